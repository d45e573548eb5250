//! What a fleet of services has beside its routes: the services, and who may call whom.

use std::collections::{BTreeMap, BTreeSet};

use policy_core::origin::{HostPattern, OriginPattern};
use policy_manifest::{
    Auth, ManifestRoute, RouteKind, RouteOrigins, algebra::OriginRegion, facet::Cell,
};
use serde_json::{Value, json};

use super::{filter::Selected, json::render, view::Section};
use crate::{
    escape::printable_json,
    input::Input,
    shown::{count, more},
};

/// A service and those of its routes that are shown.
#[derive(Debug)]
pub(super) struct ServiceRoutes<'a> {
    pub(super) input: &'a Input,
    pub(super) routes: Vec<Selected<'a>>,
}

/// A service whose pages or tokens another one admits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Relation<'a> {
    from: &'a str,
    to: &'a str,
    by: By<'a>,
    /// At how many routes.
    routes: usize,
}

/// Why a service admits another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum By<'a> {
    /// Its CORS policies grant the public origin of the other.
    Origin { pattern: &'a str, credentials: bool, if_listed: bool },
    /// It accepts the issuer of the other.
    Issuer(&'a str),
}

/// This many services that a service may call are listed, and the rest counted.
const SHOWN_CALLS: usize = 12;

/// What is said above the table.
pub(super) fn sections(fleet: &[ServiceRoutes<'_>]) -> Vec<Section> {
    let services = fleet.iter().map(|member| (member.input.name.clone(), service(member)));
    let mut calls: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for relation in relations(fleet) {
        calls.entry(relation.from).or_default().push(relation.words());
    }
    let calls = calls.into_iter().map(|(from, mut words)| {
        let more = more(words.len(), SHOWN_CALLS);
        words.truncate(SHOWN_CALLS);
        words.extend(more);
        (from.to_owned(), Cell::list(words))
    });
    let calls = Section { title: "Who may call whom", facts: calls.collect() };
    let services = Section { title: "Services", facts: services.collect() };
    [services, calls].into_iter().filter(|section| !section.facts.is_empty()).collect()
}

fn service(ServiceRoutes { input, routes }: &ServiceRoutes<'_>) -> Cell {
    let facts = &input.manifest.app;
    let origin = facts.public_origin.as_deref().unwrap_or("no public origin").to_owned();
    let is_open = |route: &&ManifestRoute| match &route.auth {
        Auth::Public => {
            matches!(route.kind, RouteKind::Handler | RouteKind::Mount | RouteKind::Proxy)
        }
        Auth::Required(requirement) => requirement.optional,
    };
    let open = routes.iter().map(|selected| selected.route).filter(is_open).count();
    let issuer = facts.tokens.as_ref().and_then(|tokens| tokens.issuer.as_ref());
    let words = [
        Some(origin),
        Some(count(routes.len(), "route")),
        (open > 0).then(|| format!("{open} of them for everybody")),
        facts.sessions.is_some().then(|| "sessions".to_owned()),
        issuer.map(|issuer| format!("tokens of {issuer}")),
    ];
    Cell::list(words.into_iter().flatten())
}

impl Relation<'_> {
    fn words(&self) -> String {
        let (to, routes) = (self.to, count(self.routes, "route"));
        match self.by {
            By::Issuer(issuer) => format!("{to} with its tokens at {routes} ({issuer})"),
            By::Origin { pattern, credentials, if_listed } => {
                let credentials = if credentials { " with credentials" } else { "" };
                let if_listed = if if_listed { " if a list names them" } else { "" };
                format!("{to} from its pages{credentials} at {routes}{if_listed} ({pattern})")
            }
        }
    }

    fn value(&self) -> Value {
        let (by, granted, credentials, if_listed) = match self.by {
            By::Issuer(issuer) => ("issuer", issuer, false, false),
            By::Origin { pattern, credentials, if_listed } => {
                ("origin", pattern, credentials, if_listed)
            }
        };
        let (from, to, routes) = (self.from, self.to, self.routes);
        json!({
            "from": from, "to": to, "by": by, "granted": granted, "credentials": credentials,
            "if_listed": if_listed, "routes": routes,
        })
    }
}

/// The pairs of services of which one may call the other. A grant to every origin names no service.
fn relations<'a>(fleet: &[ServiceRoutes<'a>]) -> Vec<Relation<'a>> {
    let origins = Origins::new(fleet);
    let mut known: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut issuers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for ServiceRoutes { input, .. } in fleet {
        let issuer = input.manifest.app.tokens.as_ref().and_then(|tokens| tokens.issuer.as_ref());
        issuer.into_iter().for_each(|it| issuers.entry(it).or_default().push(&input.name));
    }
    let mut found = Vec::new();
    for ServiceRoutes { input, routes } in fleet {
        let to = input.name.as_str();
        let mut add = |from: &[&'a str], by: By<'a>, routes: usize| {
            let others = from.iter().filter(|from| **from != to);
            found.extend(others.map(|from| Relation { from, to, by, routes }));
        };
        let mut grants: BTreeMap<By<'a>, usize> = BTreeMap::new();
        for by in routes.iter().flat_map(|selected| granted_patterns(selected.route)) {
            *grants.entry(by).or_default() += 1;
        }
        for (by, count) in grants {
            let By::Origin { pattern, .. } = by else { continue };
            let from = known.entry(pattern).or_insert_with(|| origins.matching(pattern));
            add(from, by, count);
        }
        let tokens = input.manifest.app.tokens.as_ref();
        for accepted in tokens.into_iter().flat_map(|tokens| &tokens.accepts) {
            let is_only = tokens.is_some_and(|it| it.issuer.is_none() && it.accepts.len() == 1);
            let takes = |route: &ManifestRoute| {
                let requirement = route.auth.requirement().filter(|it| it.token);
                requirement.is_some_and(|requirement| match &*requirement.issuers {
                    [] => is_only,
                    issuers => issuers.contains(&accepted.issuer),
                })
            };
            let count = routes.iter().filter(|selected| takes(selected.route)).count();
            if let Some(from) = issuers.get(&*accepted.issuer).filter(|_| count > 0) {
                add(from, By::Issuer(&accepted.issuer), count);
            }
        }
    }
    found.sort();
    found
}

/// The origin patterns that a route grants, without repetitions.
fn granted_patterns(route: &ManifestRoute) -> BTreeSet<By<'_>> {
    let Some(cors) = route.cors.as_ref().filter(|_| route.kind != RouteKind::NotFound) else {
        return BTreeSet::new();
    };
    let (patterns, if_listed) = match &cors.origins {
        RouteOrigins::Listed(patterns) => (patterns.as_slice(), false),
        RouteOrigins::AtRunTime(list) => (list.within.as_deref().unwrap_or_default(), true),
    };
    let credentials = cors.credentials;
    patterns.iter().map(|pattern| By::Origin { pattern, credentials, if_listed }).collect()
}

/// The public origins of a fleet, with the services that have them.
struct Origins<'a> {
    services: BTreeMap<&'a str, Vec<&'a str>>,
    /// Sorted by reversed host, so that hosts with the same suffix are adjacent.
    ends: BTreeSet<(String, &'a str)>,
    /// Sorted by the host after its first label, then by that label: equal prefixes are adjacent.
    beginnings: BTreeSet<(&'a str, &'a str, &'a str)>,
}

impl<'a> Origins<'a> {
    fn new(fleet: &[ServiceRoutes<'a>]) -> Self {
        let mut services: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for ServiceRoutes { input, .. } in fleet {
            let own = input.manifest.app.public_origin.as_ref();
            own.into_iter().for_each(|own| services.entry(own).or_default().push(&input.name));
        }
        let parsed = |own: &&'a str| Some((OriginPattern::parse(own).ok()?.host(), *own));
        let hosts: Vec<(&'a str, &'a str)> = services.keys().filter_map(parsed).collect();
        let ends = hosts.iter().map(|(host, own)| (backwards(host), *own)).collect();
        let beginning = |(host, own): &(&'a str, &'a str)| {
            let (label, rest) = host.split_once('.')?;
            Some((rest, label, *own))
        };
        let beginnings = hosts.iter().filter_map(beginning).collect();
        Self { services, ends, beginnings }
    }

    /// The services whose pages a pattern grants.
    fn matching(&self, pattern: &str) -> Vec<&'a str> {
        let Ok(parsed) = OriginPattern::parse(pattern) else { return Vec::new() };
        if parsed.is_single() {
            return self.services.get(pattern).cloned().unwrap_or_default();
        }
        let region: OriginRegion = [parsed].into_iter().collect();
        let (prefix, suffix) = match parsed.hosts() {
            HostPattern::Label { prefix, suffix } => (prefix, suffix),
            _ => ("", ""),
        };
        let end = match suffix {
            "" => backwards(parsed.host()),
            suffix => backwards(&format!("{suffix}.{}", parsed.host())),
        };
        let by_end = self.ends.range((end.clone(), "")..);
        let by_end = by_end.take_while(|(host, _)| host.starts_with(&end)).map(|(_, own)| *own);
        let by_beginning = self.beginnings.range((parsed.host(), prefix, "")..);
        let by_beginning = by_beginning
            .take_while(|(rest, label, _)| *rest == parsed.host() && label.starts_with(prefix))
            .map(|(.., own)| *own);
        // The longer of the two texts leaves fewer origins to compare one by one.
        let near: Vec<&str> =
            if prefix.len() > suffix.len() { by_beginning.collect() } else { by_end.collect() };
        let granted = near.into_iter().filter(|origin| region.contains(origin.as_bytes()));
        granted.filter_map(|origin| self.services.get(origin)).flatten().copied().collect()
    }
}

fn backwards(host: &str) -> String {
    host.chars().rev().collect()
}

/// The fleet for programs, as docs/schema/fleet-1.json describes it.
pub(super) fn to_json(fleet: &[ServiceRoutes<'_>]) -> String {
    let mut text = "{\n\"version\": 1,\n\"services\": [\n".to_owned();
    for (index, ServiceRoutes { input, routes }) in fleet.iter().enumerate() {
        let before = if index == 0 { "" } else { ",\n" };
        let (name, policy) = (json!(input.name), render(&input.manifest, routes));
        text += &format!("{before}{{\"name\": {name}, \"policy\": {}}}", policy.trim_end());
    }
    let relations: Vec<_> = relations(fleet).iter().map(|it| it.value().to_string()).collect();
    text += &format!("\n],\n\"calls\": [\n{}\n]\n}}\n", relations.join(",\n"));
    printable_json(&text)
}
