//! Lints about who may call.

use std::collections::{BTreeMap, BTreeSet};

use policy_core::Lint;

use super::{
    Authority, Effect, Finding, Gain, Gainer, Manifest, by_anybody, effect, quoted,
    words::{is_query, says_reading, segments},
};
use crate::ExamplePaths;
use crate::facets::{Auth, ManifestRoute, RouteKind, RouteRequirement};

pub(super) fn look(manifest: &Manifest, paths: &ExamplePaths, found: &mut Vec<Finding>) {
    let is_read = |route: &&ManifestRoute| route.kind == RouteKind::Handler && route.serves("GET");
    let (open, closed): (Vec<_>, Vec<_>) =
        manifest.routes.iter().filter(is_read).partition(|route| is_open(route));
    let paths_of = |routes: &[&ManifestRoute]| -> BTreeSet<String> {
        routes.iter().map(|route| route.path.clone()).collect()
    };
    let (open, closed) = (paths_of(&open), paths_of(&closed));
    for route in &manifest.routes {
        found.extend(rights_of_optional(route));
        found.extend(change_without_credential(route, paths, closed.contains(&route.path)));
        found.extend(open_tunnel(route));
        let is_read = open.contains(&route.path) || closed.contains(&route.path);
        found.extend(scopes_of_reading(route, paths, is_read));
    }
    near_names(manifest, found);
    found.extend(forgeable_addresses(manifest));
}

/// Whether a caller without a credential is admitted.
pub(super) fn is_open(route: &ManifestRoute) -> bool {
    route.auth.requirement().is_none_or(|requirement| requirement.optional)
}

fn rights_of_optional(route: &ManifestRoute) -> Option<Finding> {
    let requirement = route.auth.requirement().filter(|requirement| requirement.optional)?;
    let rights = [("scopes", &requirement.scopes), ("roles", &requirement.roles)];
    let rights = rights.into_iter().filter(|(_, names)| !names.is_empty());
    let rights: Vec<_> = rights.map(|(what, names)| format!("{what} {}", quoted(names))).collect();
    if rights.is_empty() {
        return None;
    }
    let finding = Finding::for_route(Lint::RightsOfOptional, route, "auth");
    Some(finding.gain(by_anybody(effect(route))).about(rights.join(", ")))
}

/// The effect of POST on a path, such as a login, may differ from that of the others.
const CHANGES: [&str; 3] = ["DELETE", "PATCH", "PUT"];

fn change_without_credential(
    route: &ManifestRoute,
    paths: &ExamplePaths,
    is_read_closed: bool,
) -> Option<Finding> {
    let is_handler = route.kind == RouteKind::Handler;
    let changes: Vec<_> =
        route.methods.iter().filter(|method| CHANGES.contains(&method.as_str())).collect();
    // A handler that takes the session may check its caller itself.
    if !is_handler || !is_open(route) || route.takes_session || !is_read_closed {
        return None;
    }
    let witness = paths.request(changes.first()?, route)?;
    let finding = Finding::for_route(Lint::ChangeWithoutCredential, route, "auth");
    let finding = finding.gain(by_anybody(Effect::Write));
    Some(finding.about(quoted(changes)).witness(Some(witness)))
}

fn scopes_of_reading(
    route: &ManifestRoute,
    paths: &ExamplePaths,
    is_read: bool,
) -> Option<Finding> {
    let requirement =
        route.auth.requirement().filter(|requirement| !requirement.scopes.is_empty())?;
    let segments = segments(&route.path);
    let changes = route.methods.iter().find(|method| match method.as_str() {
        // Where nothing is read by GET, POST may be the way to read.
        "POST" => is_read,
        method => CHANGES.contains(&method),
    })?;
    // Where roles decide, scopes do not decide alone.
    let is_by_scopes = requirement.roles.is_empty() && route.kind == RouteKind::Handler;
    let says_reading = requirement.scopes.iter().all(|scope| says_reading(scope));
    if !is_by_scopes || !says_reading || is_query(&segments) {
        return None;
    }
    let witness = paths.request(changes, route);
    let gain = Gain { who: Gainer::Anybody, what: Effect::Write, authority: Authority::Held };
    let finding = Finding::for_route(Lint::ScopeOfReadingWrites, route, "auth").gain(gain);
    Some(finding.about(quoted(&requirement.scopes)).witness(witness))
}

fn near_names(manifest: &Manifest, found: &mut Vec<Finding>) {
    let scopes: fn(&RouteRequirement) -> &Vec<String> = |requirement| &requirement.scopes;
    let roles: fn(&RouteRequirement) -> &Vec<String> = |requirement| &requirement.roles;
    for names_of in [scopes, roles] {
        let mut uses: BTreeMap<&str, Vec<&ManifestRoute>> = BTreeMap::new();
        for route in &manifest.routes {
            let names = route.auth.requirement().map(names_of).into_iter().flatten();
            names.for_each(|name| uses.entry(name).or_default().push(route));
        }
        let usual = uses.iter().filter(|(_, routes)| routes.len() > 1).map(|(name, _)| *name);
        let usual = UsualNames::new(usual);
        for (name, routes) in &uses {
            let [route] = routes.as_slice() else { continue };
            if let Some(other) = usual.near(name) {
                let about = format!("`{name}`, and elsewhere `{other}`");
                let finding = Finding::for_route(Lint::NameNearlyAnother, route, "auth");
                found.push(finding.about(about));
            }
        }
    }
}

/// The most characters of a name that is compared: a longer one is not a typing error.
const LONGEST_NAME: usize = 64;

/// Finds names that differ by one letter added, removed or replaced, or by two swapped letters.
/// Short names and numbered ones are intentionally similar.
#[derive(Default)]
struct UsualNames<'a> {
    names: BTreeSet<&'a str>,
    /// By the text without one of its letters, and the index of that.
    shorter: BTreeMap<(String, usize), &'a str>,
}

impl<'a> UsualNames<'a> {
    /// Collects names that are in ascending order.
    fn new(names: impl Iterator<Item = &'a str>) -> Self {
        let mut known = Self::default();
        for name in names {
            let letters = letters(name);
            known.names.insert(name);
            for (index, letter) in letters.iter().enumerate().skip(1) {
                if !letter.is_numeric() {
                    known.shorter.entry((without(&letters, index), index)).or_insert(name);
                }
            }
        }
        known
    }

    /// The first name that is near another one.
    fn near(&self, name: &str) -> Option<&'a str> {
        let letters = letters(name);
        let mut found = BTreeSet::new();
        for index in 1..=letters.len() {
            let shorter = without(&letters, index);
            let longer = self.shorter.get(&(name.to_owned(), index));
            let exchanged = self.shorter.get(&(shorter.clone(), index));
            let mut swapped = letters.clone();
            if index + 1 < swapped.len() {
                swapped.swap(index, index + 1);
            }
            let swapped: String = swapped.into_iter().collect();
            let known = [&*shorter, &*swapped].into_iter().filter_map(|text| self.names.get(text));
            found.extend(known.chain(longer).chain(exchanged).filter(|near| is_near(name, near)));
        }
        found.first().copied()
    }
}

/// The letters of a name that is compared.
fn letters(name: &str) -> Vec<char> {
    let letters: Vec<char> = name.chars().take(LONGEST_NAME + 1).collect();
    if letters.len() > LONGEST_NAME { Vec::new() } else { letters }
}

fn without(letters: &[char], index: usize) -> String {
    letters.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, letter)| letter).collect()
}

/// Whether one of two names is a typing error for the other one.
fn is_near(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|name| name.chars().collect::<Vec<_>>());
    if one == other || one.len().min(other.len()) < 4 || one.first() != other.first() {
        return false;
    }
    let same = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let (one, other) = (one.split_at(same).1, other.split_at(same).1);
    match (one, other) {
        ([letter], []) | ([], [letter]) => !letter.is_numeric(),
        ([a, one @ ..], [b, other @ ..]) => {
            let is_exchanged = one == other
                || matches!((one, other), ([c, one @ ..], [d, other @ ..]) if (a, c) == (d, b) && one == other);
            let is_longer = |long: &[char], short: &char, rest: &[char]| {
                long.split_first().is_some_and(|(first, after)| first == short && after == rest)
            };
            let is_near = is_exchanged || is_longer(one, b, other) || is_longer(other, a, one);
            is_near && !a.is_numeric() && !b.is_numeric()
        }
        _ => false,
    }
}

fn open_tunnel(route: &ManifestRoute) -> Option<Finding> {
    if route.kind != RouteKind::Tunnel || route.auth != Auth::Public {
        return None;
    }
    let finding =
        Finding::for_route(Lint::OpenTunnel, route, "auth").gain(by_anybody(Effect::Write));
    let witness = route.targets.first().map(|target| format!("CONNECT {target}"));
    Some(finding.about(quoted(&route.targets)).witness(witness))
}

fn forgeable_addresses(manifest: &Manifest) -> Option<Finding> {
    let networks: Vec<_> =
        manifest.app.proxies.iter().filter(|network| network.ends_with("/0")).collect();
    if networks.is_empty() {
        return None;
    }
    let finding = Finding::for_app(Lint::AddressForgeable).gain(by_anybody(Effect::Read));
    Some(finding.about(quoted(networks)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All names of three to five letters that begin alike.
    fn every_name() -> Vec<String> {
        let mut names = vec!["s".to_owned()];
        let mut found = Vec::new();
        for length in 2..=5 {
            let longer =
                names.iter().flat_map(|name| ["a", "b", "1"].map(|it| format!("{name}{it}")));
            names = longer.collect();
            found.extend(names.iter().filter(|_| length > 2).cloned());
        }
        found.sort();
        found
    }

    #[test]
    fn a_near_name_is_found_without_a_comparison_with_all() {
        let all = every_name();
        let mut count = 0;
        // Of two in the same bucket, each is once the only one.
        for step in [1, 2, 3, 5] {
            let usual: Vec<&str> = all.iter().step_by(step).map(String::as_str).collect();
            let known = UsualNames::new(usual.iter().copied());
            for name in all.iter().filter(|name| !usual.contains(&name.as_str())) {
                let expected = usual.iter().find(|other| is_near(name, other)).copied();
                assert_eq!(known.near(name), expected, "{name} among {usual:?}");
                count += usize::from(expected.is_some());
            }
        }
        assert!(count > 50, "{count}");
    }
}
