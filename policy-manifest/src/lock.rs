//! The lock file: the policy of an app as it was reviewed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, iter,
};

use serde::{Deserialize, Serialize};

use crate::{
    Change, Manifest, ManifestRoute, ObjectUse, ReadError, RouteCors, RouteKind, Suppression,
    changes,
    changes::renamed,
    engine::{Engine, EngineError},
    example_paths::ExamplePaths,
    facets::json,
    name_of, read,
};

/// A lock file: a manifest, and the acceptances of what it opens.
///
/// ```
/// use policy_manifest::{Auth, Lock, Manifest, ManifestRoute};
///
/// let lock = Lock::new(Manifest::new());
/// let mut manifest = Manifest::new();
/// manifest.routes.push(ManifestRoute::handler("/hello", ["GET"], Auth::Public));
/// // Nobody has accepted that everybody may say hello.
/// let update = lock.update(&manifest).unwrap();
/// assert_eq!(update.to_accept.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The policy.
    pub manifest: Manifest,
    /// The acceptances, in the order of routes.
    pub accepted: Vec<Acceptance>,
    /// Which findings of [lints](super::lint) are suppressed, by whom and why.
    pub suppressed: Vec<Suppression>,
}

/// The acceptance that a route is as open as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Acceptance {
    /// The route, such as `GET /orders/{id}`; `app`; or a rule of an object, such as `Order.edit`.
    pub route: String,
    /// The digest of its policy, with the rules of its objects and its run-time list of origins: a
    /// different policy must be accepted again.
    pub policy: String,
    /// The name of the reviewer.
    pub who: String,
    /// The reason.
    pub why: String,
}

/// The effect of a changed policy of an app on its lock file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Update {
    /// The changes.
    pub changes: Vec<Change>,
    /// The changes that open access and are not accepted, each with the line that would accept it.
    pub to_accept: Vec<(Change, Acceptance)>,
    /// The new lock file, once the changes are accepted.
    pub lock: Lock,
}

impl Lock {
    /// A lock file in which nothing had to be accepted.
    pub fn new(manifest: Manifest) -> Self {
        Self { manifest: manifest.normal(), accepted: Vec::new(), suppressed: Vec::new() }
    }

    /// Reads a lock file. A manifest is one, too.
    ///
    /// # Errors
    ///
    /// As [`Manifest::parse`].
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        read::lock(text)
    }

    /// The text of the file: the text of the manifest, with the acceptances and suppressions before
    /// the routes, one per line.
    pub fn to_json(&self) -> String {
        let sections =
            section("accepted", &self.accepted) + &section("suppressed", &self.suppressed);
        self.manifest.to_json().replacen("  \"routes\": [", &(sections + "  \"routes\": ["), 1)
    }

    /// The changes by another policy of the app.
    ///
    /// # Errors
    ///
    /// One of the two is not a policy that the engine accepts.
    pub fn update(&self, manifest: &Manifest) -> Result<Update, EngineError> {
        let mut changes = changes(&self.manifest, manifest)?;
        let manifest = manifest.clone().normal();
        changes.extend(renamed(&self.manifest, &manifest));
        let mut digests = Digests::new(&manifest)?;
        let accepted = self.accepted.iter().filter(|line| digests.are_accepted_by(line));
        let accepted: Vec<Acceptance> = accepted.cloned().collect();
        let opening = changes.iter().filter(|change| change.direction.opens());
        let to_accept = digests.lines_for(opening, &accepted);
        let lock = Self { manifest, accepted, suppressed: self.suppressed.clone() };
        Ok(Update { changes, to_accept, lock })
    }

    /// The changes that no line of this file accepts, each with the line that would. `changes` lead
    /// to the policy of this file.
    ///
    /// # Errors
    ///
    /// The policy is not one that the engine accepts.
    pub fn unaccepted<'a>(
        &self,
        changes: impl IntoIterator<Item = &'a Change>,
    ) -> Result<Vec<(Change, Acceptance)>, EngineError> {
        Ok(Digests::new(&self.manifest)?.lines_for(changes, &self.accepted))
    }

    /// The acceptances of a policy that their route does not have: an earlier one, or one in
    /// advance.
    ///
    /// # Errors
    ///
    /// The policy is not one that the engine accepts.
    pub fn stale(&self) -> Result<Vec<&Acceptance>, EngineError> {
        let mut digests = Digests::new(&self.manifest)?;
        Ok(self.accepted.iter().filter(|line| !digests.are_accepted_by(line)).collect())
    }
}

impl Acceptance {
    /// The first empty field, of `who` and `why`.
    pub(super) fn unsigned(&self) -> Option<&'static str> {
        let fields = [("who", &self.who), ("why", &self.why)];
        fields.into_iter().find(|(_, text)| text.trim().is_empty()).map(|(name, _)| name)
    }
}

/// A list of a lock file, each entry a line; nothing if it is empty.
fn section(name: &str, entries: &[impl Serialize]) -> String {
    let lines = entries
        .iter()
        .map(|entry| format!("    {}", serde_json::to_string(entry).unwrap_or_default()));
    let lines: Vec<_> = lines.collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("  \"{name}\": [\n{}\n  ],\n", lines.join(",\n")),
    }
}

/// The digests of policies, by route, each computed once.
struct Digests<'m> {
    manifest: &'m Manifest,
    engine: Engine,
    example_paths: ExamplePaths,
    known: BTreeMap<String, Option<String>>,
}

impl<'m> Digests<'m> {
    fn new(manifest: &'m Manifest) -> Result<Self, EngineError> {
        let (engine, known) = (Engine::new(manifest)?, BTreeMap::new());
        Ok(Self { manifest, engine, example_paths: ExamplePaths::new(&manifest.routes), known })
    }

    fn digest(&mut self, route: &str) -> Option<String> {
        if let Some(known) = self.known.get(route) {
            return known.clone();
        }
        let digest = self.policy_digest(route);
        self.known.insert(route.to_owned(), digest.clone());
        digest
    }

    /// The digest of the route that serves requests for a route, of the facts of the app for `app`, or of the
    /// rule of an object: the first 32 hexadecimal digits of SHA-256. `None` if nothing serves it.
    fn policy_digest(&self, route: &str) -> Option<String> {
        let text = match (self.manifest.objects.get(route), route.split_once(' ')) {
            (Some(rule), _) => rule.clone(),
            (None, None) if route == "app" => serde_json::to_string(&self.manifest.app).ok()?,
            (None, named) => {
                let (methods, path) = named.unwrap_or(("", route));
                let paths = self.paths_below(path);
                let policies: Vec<String> = methods
                    .split(',')
                    .flat_map(|method| {
                        let mut policies: Vec<_> =
                            paths.iter().filter_map(|path| self.policy_of(method, path)).collect();
                        policies.dedup();
                        policies
                    })
                    .collect();
                (!policies.is_empty()).then(|| policies.concat())?
            }
        };
        Some(name_of(&text))
    }

    fn policy_of(&self, method: &str, path: &str) -> Option<String> {
        let mut route = self.engine.serving(method, path)?.clone();
        route.methods.clear();
        // A route only names its rules and its list, and one that is new has no other change that shows them.
        let uses = route.object.iter().flat_map(|objects| &objects.uses);
        let rules = uses.flat_map(ObjectUse::rules);
        let rules = rules.filter_map(|rule| self.manifest.objects.get(&rule).map(json));
        let list = route.cors.as_ref().and_then(RouteCors::list);
        let list = list.and_then(|it| self.manifest.app.lists.get(&it.list)).map(json);
        Some(json(&route) + &rules.chain(list).collect::<String>())
    }

    /// Example paths of the routes that a name means: a mount, and a handler at its prefix, have one name.
    fn paths_below(&self, path: &str) -> Vec<String> {
        let is_service = |route: &&ManifestRoute| {
            route.path == path && matches!(route.kind, RouteKind::Mount | RouteKind::Proxy)
        };
        let service = self.manifest.routes.iter().find(is_service);
        let below = service.map(ManifestRoute::template);
        let templates = iter::once(path.to_owned()).chain(below);
        templates.map(|template| self.example_paths.path_of(&template)).collect()
    }

    /// Whether a line is signed, and accepts the policy that its route has.
    fn are_accepted_by(&mut self, line: &Acceptance) -> bool {
        line.unsigned().is_none() && self.digest(&line.route).as_ref() == Some(&line.policy)
    }

    /// The lines for the changes that none of these accepts.
    fn lines_for<'c>(
        &mut self,
        changes: impl IntoIterator<Item = &'c Change>,
        accepted: &[Acceptance],
    ) -> Vec<(Change, Acceptance)> {
        let signed = accepted.iter().filter(|line| line.unsigned().is_none());
        let signed: BTreeSet<(&str, &str)> =
            signed.map(|line| (line.route.as_str(), line.policy.as_str())).collect();
        let lines = changes.into_iter().filter_map(|change| {
            let route = change.route();
            let policy = self.digest(&route).unwrap_or_default();
            let is_accepted = signed.contains(&(&*route, &*policy));
            let line = Acceptance { route, policy, who: String::new(), why: String::new() };
            (!is_accepted).then(|| (change.clone(), line))
        });
        lines.collect()
    }
}

impl fmt::Display for Acceptance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Auth, ObjectKey, OriginListFacts, RouteRequirement,
        samples::{object_rules, order, partners, session, texts},
    };

    fn staff() -> Auth {
        let roles = vec!["staff".to_owned()];
        Auth::Required(RouteRequirement { roles, ..session() })
    }

    fn app(auth: Auth) -> Manifest {
        routes([handler("/orders", auth)])
    }

    fn handler(path: &str, auth: Auth) -> ManifestRoute {
        ManifestRoute::handler(path, ["GET"], auth)
    }

    fn routes(routes: impl IntoIterator<Item = ManifestRoute>) -> Manifest {
        Manifest { routes: routes.into_iter().collect(), ..Manifest::new() }
    }

    /// The routes that have to be accepted.
    fn routes_to_accept(update: &Update) -> Vec<String> {
        update.to_accept.iter().map(|(change, _)| change.route()).collect()
    }

    /// A line that somebody has signed.
    fn signed(line: &Acceptance) -> Acceptance {
        Acceptance { who: "ada".to_owned(), why: "launch".to_owned(), ..line.clone() }
    }

    #[test]
    fn opening_changes_are_accepted_by_name_once_for_each_policy() {
        let lock = Lock::new(app(staff()));
        let update = lock.update(&app(Auth::Public)).unwrap();
        let (change, line) = &update.to_accept[0];
        assert_eq!(change.route(), "GET /orders");
        let lock = Lock { accepted: vec![signed(line)], ..lock };
        let update = lock.update(&app(Auth::Public)).unwrap();
        assert_eq!(update.to_accept.len(), 0);
        assert_eq!(update.lock.accepted.len(), 1);
        // The acceptance was of that policy, and is not valid once the route was closed again.
        let closed = update.lock.update(&app(staff())).unwrap();
        assert_eq!((closed.to_accept.len(), closed.lock.accepted.len()), (0, 0));
        assert_eq!(closed.lock.update(&app(Auth::Public)).unwrap().to_accept.len(), 1);
    }

    #[test]
    fn a_route_is_opened_beside_one_that_names_the_value_of_its_example() {
        for (path, beside) in [
            ("/levels/{n}", "/levels/1"),
            ("/{*path}", "/policy/{topic}"),
            ("/docs/{*path}", "/docs/1"),
        ] {
            let app = |auth| routes([handler(path, auth), handler(beside, Auth::Public)]);
            let update = Lock::new(app(staff())).update(&app(Auth::Public)).unwrap();
            assert_eq!(routes_to_accept(&update), [format!("GET {path}")], "beside {beside}");
        }
    }

    #[test]
    fn a_mount_is_opened_beside_handlers_below_it() {
        for beside in ["/api/policy/{id}", "/api/policy/sample", "/api/1"] {
            let app = |auth: Auth| {
                let mount = ManifestRoute { kind: RouteKind::Mount, ..handler("/api", auth) };
                routes([mount, handler(beside, Auth::Public)])
            };
            let update = Lock::new(app(staff())).update(&app(Auth::Public)).unwrap();
            assert_eq!(routes_to_accept(&update), ["GET /api"], "beside {beside}");
            let line = signed(&update.to_accept[0].1);
            let lock = Lock { accepted: vec![line], ..Lock::new(app(staff())) };
            let update = lock.update(&app(Auth::Public)).unwrap();
            assert!(update.to_accept.is_empty(), "beside {beside}: it cannot be accepted");
            assert_eq!(update.lock.stale().unwrap(), [] as [&Acceptance; 0]);
        }
    }

    #[test]
    fn a_removed_path_leaves_its_requests_to_an_open_one() {
        let [hiding, open] = [handler("/a/{x}", staff()), handler("/{y}/b", Auth::Public)];
        let [closed, open] = [routes([hiding, open.clone()]), routes([open])];
        let update = Lock::new(closed.clone()).update(&open).unwrap();
        assert_eq!(routes_to_accept(&update), ["GET /a/b"]);
        assert!(Lock::new(open).update(&closed).unwrap().to_accept.is_empty());
        // The fallback also serves the other methods of the path.
        let all = || ManifestRoute::new(RouteKind::Fallback, "*", [""; 0], Auth::Public);
        let [closed, open] = [routes([all(), handler("/a", Auth::Public)]), routes([all()])];
        let update = Lock::new(closed.clone()).update(&open).unwrap();
        assert_eq!(routes_to_accept(&update), ["DELETE,OPTIONS,PATCH,POST,PUT,QUERY,TRACE /a"]);
        assert!(Lock::new(open).update(&closed).unwrap().to_accept.is_empty());
        // A mount serves the path of a handler below it.
        let files = ManifestRoute::new(RouteKind::Mount, "/files", ["GET"], Auth::Public);
        let closed = routes([files.clone(), handler("/files/pay", staff())]);
        let update = Lock::new(closed).update(&routes([files])).unwrap();
        let [(change, _)] = &update.to_accept[..] else { panic!("{:?}", update.to_accept) };
        let words = change.to_string();
        assert!(words.contains("GET /files/pay: auth: was `session, roles"), "{words}");
    }

    #[test]
    fn a_removed_path_leaves_its_encoded_slashes_to_a_rest_that_takes_them() {
        let rest = || handler("/g/{*rest:slashes}", Auth::Public);
        for hiding in ["/g/x", "/g/x/y", "/g/x/", "/g/x/{a}", "/g/x/{a:slashes}"] {
            let [closed, open] =
                [routes([rest(), handler(hiding, Auth::Public)]), routes([rest()])];
            let lock = Lock::new(closed.clone());
            let update = lock.update(&open).unwrap();
            let opened: Vec<_> = update.to_accept.iter().map(|(it, _)| it.to_string()).collect();
            assert_eq!(opened, [format!("opens: GET {hiding}: route: encoded slashes")]);
            let lock = Lock { accepted: vec![signed(&update.to_accept[0].1)], ..lock };
            assert!(lock.update(&open).unwrap().to_accept.is_empty(), "{hiding}");
            assert!(Lock::new(open).update(&closed).unwrap().to_accept.is_empty(), "{hiding}");
        }
        // A rest that takes none refuses them as before.
        let others = ["/h/{*rest}", "/g/{*rest:slashes}"].map(|path| handler(path, Auth::Public));
        let [closed, open] = [&["/h/x"][..], &[]].map(|paths| {
            let hiding = paths.iter().map(|path| handler(path, Auth::Public));
            routes(others.iter().cloned().chain(hiding))
        });
        assert_eq!(Lock::new(closed).update(&open).unwrap().changes, []);
    }

    #[test]
    fn a_rule_of_an_object_is_accepted_by_its_name() {
        let app = |edit: &str| {
            let mut manifest = app(staff());
            manifest.routes[0].object = Some(order("edit", ObjectKey::Handler));
            manifest.objects = object_rules(&[("Order.view", "same(team)"), ("Order.edit", edit)]);
            manifest
        };
        let (closed, open) = (app("owner(user)"), app("owner(user) | same(team)"));
        let update = Lock::new(closed.clone()).update(&open).unwrap();
        let [(change, line)] = update.to_accept.as_slice() else { panic!("{update:?}") };
        assert_eq!((change.facet, line.route.as_str()), ("object", "Order.edit"));
        assert_eq!(line.policy.len(), 32);
        let lock = Lock { accepted: vec![signed(line)], ..Lock::new(closed) };
        assert_eq!(lock.update(&open).unwrap().to_accept.len(), 0);
        assert_eq!(lock.update(&app("anyone")).unwrap().to_accept.len(), 1);
        assert_eq!(Lock { manifest: open, ..lock }.stale().unwrap().len(), 0);
    }

    #[test]
    fn a_line_accepts_what_its_route_names_as_it_is() {
        let ruled = |view: &str| {
            let mut manifest = app(Auth::Public);
            manifest.routes[0].object = Some(order("view", ObjectKey::List));
            manifest.objects = object_rules(&[("Order.view", view)]);
            manifest
        };
        let shared = |origin: &str| {
            let mut manifest = app(staff());
            manifest.routes[0].cors = Some(RouteCors::new(partners(None)));
            let list = OriginListFacts { origins: texts(&[origin]), ..OriginListFacts::default() };
            manifest.app.lists.insert("partners".to_owned(), list);
            manifest
        };
        let lock = Lock::new(app(staff()));
        for [one, other] in [
            [ruled("owner(user)"), ruled("anyone")],
            [shared("https://a.example"), shared("https://b.example")],
        ] {
            let update = lock.update(&one).unwrap();
            let lock = Lock { accepted: vec![signed(&update.to_accept[0].1)], ..lock.clone() };
            assert!(lock.update(&one).unwrap().to_accept.is_empty());
            assert_eq!(routes_to_accept(&lock.update(&other).unwrap()), ["GET /orders"]);
        }
    }

    #[test]
    fn a_renamed_parameter_is_a_change_of_the_file() {
        let app = |path: &str| routes([handler(path, Auth::Public)]);
        let lock = Lock::new(app("/orders/{id}"));
        let update = lock.update(&app("/orders/{number}")).unwrap();
        let words: Vec<_> = update.changes.iter().map(ToString::to_string).collect();
        assert_eq!(words, ["changes: /orders/{number}: route: its path was `/orders/{id}`"]);
        assert_eq!(update.to_accept.len(), 0);
        assert_eq!(lock.update(&app("/orders/{id}")).unwrap().changes, []);
        // What it takes is no name.
        let wide = app("/orders/{id:slashes}");
        let update = lock.update(&wide).unwrap();
        let opened: Vec<_> = update.to_accept.iter().map(|(it, _)| it.to_string()).collect();
        assert_eq!(opened, ["opens: GET /orders/{id}: route: encoded slashes"]);
        assert!(Lock::new(wide).update(&lock.manifest).unwrap().to_accept.is_empty());
    }

    #[test]
    fn a_cookie_for_other_sites_names_the_routes_that_it_makes_forgeable() {
        let app = |same_site: &str| {
            let mut manifest = app(staff());
            manifest.app.sessions = Some(crate::SessionFacts::new("memory", "sid", same_site));
            let mut pay = ManifestRoute::handler("/pay", ["POST"], staff());
            manifest.routes.push(ManifestRoute { path: "/guarded".to_owned(), ..pay.clone() });
            pay.csrf = crate::Csrf::Exempt("a partner posts here".to_owned());
            manifest.routes.push(pay);
            manifest
        };
        let update = Lock::new(app("lax")).update(&app("none")).unwrap();
        let [change] = update.changes.as_slice() else { panic!("{:?}", update.changes) };
        assert!(change.direction.opens());
        assert!(change.words.ends_with("of their visitors to `POST /pay`"), "{}", change.words);
        let back = Lock::new(app("none")).update(&app("lax")).unwrap();
        assert!(!back.changes[0].words.contains("/pay"), "{}", back.changes[0].words);
    }

    #[test]
    fn a_line_accepts_one_policy_of_a_route() {
        let update = Lock::new(app(staff())).update(&app(Auth::Public)).unwrap();
        let (change, line) = &update.to_accept[0];
        let of = |auth| Lock { accepted: vec![signed(line)], ..Lock::new(app(auth)) };
        let found =
            |lock: &Lock| (lock.unaccepted([change]).unwrap().len(), lock.stale().unwrap().len());
        assert_eq!(found(&of(Auth::Public)), (0, 0));
        assert_eq!(found(&of(staff())), (1, 1));
    }

    #[test]
    fn an_acceptance_has_a_name_and_a_reason() {
        let lock = Lock::new(app(staff()));
        let (_, line) = lock.update(&app(Auth::Public)).unwrap().to_accept.remove(0);
        for (who, why, missing) in
            [("", "", "who"), (" ", "launch", "who"), ("ada", "", "why"), ("ada", "\t", "why")]
        {
            let (who, why) = (who.to_owned(), why.to_owned());
            let unsigned = Acceptance { who, why, ..line.clone() };
            let lock = Lock { accepted: vec![unsigned], ..lock.clone() };
            // Such a line accepts nothing, and no file that has it is read.
            let update = lock.update(&app(Auth::Public)).unwrap();
            assert_eq!((update.to_accept.len(), update.lock.accepted.len()), (1, 0), "{lock:?}");
            let error = Lock::parse(&lock.to_json()).unwrap_err().to_string();
            let words = format!("the acceptance of `GET /orders` has an empty `{missing}`: write");
            assert!(error.starts_with(&words), "{error}");
        }
    }

    #[test]
    fn a_lock_file_is_read_as_it_was_written() {
        let mut lock = Lock::new(app(Auth::Public));
        let line = |route: &str| Acceptance {
            route: route.to_owned(),
            policy: "0".to_owned(),
            who: "ada".to_owned(),
            why: "\"routes\": [".to_owned(),
        };
        lock.accepted = vec![line("GET /a"), line("GET /b")];
        let suppressed = Suppression {
            lint: "lint.own-origin".to_owned(),
            route: None,
            who: "ada".to_owned(),
            why: "launch".to_owned(),
            until: None,
        };
        let until = Some("2027-01-31".parse().unwrap());
        let route = Some("GET /a".to_owned());
        lock.suppressed = vec![suppressed.clone(), Suppression { route, until, ..suppressed }];
        let text = lock.to_json();
        assert_eq!(Lock::parse(&text).unwrap(), lock);
        assert_eq!(Lock::parse(&lock.manifest.to_json()).unwrap().accepted, []);
        // As an editor on Windows writes it.
        let of_windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(Lock::parse(&of_windows).unwrap(), lock);
        let other = text.replace("\"who\"", "\"whom\"");
        assert!(Lock::parse(&other).is_err());
    }
}
