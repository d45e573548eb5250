//! A policy that is checked: which of its routes a rule selects, and whom they let through.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    rc::Rc,
};

use http::header::{ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN};
use policy_core::{auth::OWN_ISSUER, method};

use super::{
    CallerKind, CheckError,
    budget::Budget,
    glob::{glob_matches, literal_prefix, rests_after},
    names::NameSet,
    rule::Never,
};
use crate::{
    ExamplePaths, Manifest, ManifestRoute, RouteKind, RouteRequirement,
    algebra::OriginRegion,
    diff::{
        class_of, policy_numbers,
        probe::{self, Cookie, Credentials, Extra, HeaderOrigin, Sender, Slot},
        side::Side,
    },
    engine::{AmbientCredential, CallerFacts, Decision, EngineError, Login, Outcome},
};

/// A policy, prepared for questions about it.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) side: Side,
    /// The number of the policy of each route: requests to routes with equal numbers are decided
    /// alike.
    policies: Vec<usize>,
    example_paths: ExamplePaths,
    answers: HashMap<Key, Option<RequestProbe>>,
    selections: HashMap<String, Rc<BTreeMap<usize, Option<String>>>>,
}

/// A request: its sender and credentials, without its path and method.
pub(super) type RequestProbe = (Sender, Credentials);

/// Which callers and senders a question is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'q> {
    pub(super) callers: Option<&'q BTreeSet<CallerKind>>,
    pub(super) roles: &'q NameSet,
    pub(super) scopes: &'q NameSet,
    pub(super) from: From<'q>,
}

/// From where a request comes.
#[derive(Clone, Copy, Debug)]
pub(super) enum From<'q> {
    /// A program, or a page of the app: they can send what no other page can.
    Anywhere,
    /// Pages of these origins, which read the response or change something. The number is that of
    /// the rule.
    Pages(&'q OriginRegion, usize),
    /// Pages that the policy does not name, which change something as their visitor.
    Forged,
}

/// The facts on which an answer depends.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    policy: usize,
    method: String,
    callers: Option<BTreeSet<CallerKind>>,
    /// The roles that the route requires and the caller may have.
    roles: Vec<String>,
    scopes: Vec<String>,
    from: usize,
}

impl Subject {
    pub(super) fn new(manifest: &Manifest) -> Result<Self, EngineError> {
        let side = Side::new(manifest)?;
        let routes = &side.manifest.routes;
        let policies = policy_numbers(routes, &mut HashMap::new());
        let example_paths = ExamplePaths::new(routes);
        let (answers, selections) = (HashMap::new(), HashMap::new());
        Ok(Self { side, policies, example_paths, answers, selections })
    }

    pub(super) fn route(&self, index: usize) -> Option<&ManifestRoute> {
        self.side.manifest.routes.get(index)
    }

    /// The routes whose path a glob matches, and those that serve a path for which it stands, such
    /// as a mount at `/` for `/admin/**`, with this path.
    pub(super) fn select(
        &mut self,
        glob: &str,
        budget: &mut Budget,
    ) -> Result<Rc<BTreeMap<usize, Option<String>>>, CheckError> {
        if let Some(known) = self.selections.get(glob) {
            return Ok(Rc::clone(known));
        }
        let routes = &self.side.manifest.routes;
        let prefix = literal_prefix(glob);
        // A manifest in its normal form has its routes in the order of their paths.
        let from = routes.partition_point(|route| route.path.as_str() < prefix);
        let rest = routes.iter().enumerate().skip(from);
        let mut found = BTreeMap::new();
        let is_rooted = glob.starts_with('/');
        let mut paths = if is_rooted { self.paths_of("", glob) } else { BTreeSet::new() };
        for (index, route) in rest.take_while(|(_, route)| route.path.starts_with(prefix)) {
            budget.spend(1 + glob.len() * route.path.len() / 64)?;
            if glob_matches(glob, &route.path) {
                found.insert(index, None);
                continue;
            }
            for beginning in self.beginnings(route).iter().filter(|_| is_rooted) {
                budget.spend(1 + glob.len() * beginning.len() / 64)?;
                for rest in rests_after(beginning, glob) {
                    budget.spend(1 + rest.len() / 8)?;
                    paths.append(&mut self.paths_of(beginning, &rest));
                }
            }
        }
        for path in paths {
            budget.spend(path.len() / 64)?;
            let number = self.side.engine.path_number(&path);
            let served = match number {
                Some(number) => self.side.engine.methods_of(number),
                None => &[],
            };
            let fallback = self.side.engine.elsewhere().filter(|_| number.is_none());
            for index in served.iter().map(|served| served.route).chain(fallback) {
                found.entry(index).or_insert_with(|| Some(path.clone()));
            }
        }
        found
            .retain(|index, _| self.route(*index).is_some_and(|it| it.kind != RouteKind::NotFound));
        let found = Rc::new(found);
        self.selections.insert(glob.to_owned(), Rc::clone(&found));
        Ok(found)
    }

    /// The beginnings that the paths of a route have in common, if it serves more than one path. A
    /// wildcard of a glob has to match their text.
    fn beginnings(&self, route: &ManifestRoute) -> Vec<String> {
        match route.kind {
            RouteKind::Mount | RouteKind::Proxy => vec![format!("{}/", route.path)],
            RouteKind::Handler | RouteKind::Probe => {
                let Some((fixed, _)) = route.path.split_once('{') else { return Vec::new() };
                let before_rest = route.path.split("{*").next().unwrap_or_default();
                vec![fixed.to_owned(), self.example_paths.short_path_of(before_rest)]
            }
            RouteKind::Tunnel | RouteKind::Fallback | RouteKind::NotFound => Vec::new(),
        }
    }

    /// Paths for which a beginning and a glob stand, with segments that no route names.
    fn paths_of(&self, beginning: &str, glob: &str) -> BTreeSet<String> {
        let value = self.example_paths.value();
        let plain = glob.split('/').map(|segment| {
            let is_parameter = segment.starts_with('{') && segment.ends_with('}');
            if is_parameter { value } else { segment }
        });
        let plain = plain.collect::<Vec<_>>().join("/").replace('?', "1");
        // A star also matches an empty text.
        let rests =
            ["", value, &self.example_paths.longest()].map(|rest| plain.replace("**", rest));
        let paths = rests.iter().flat_map(|path| ["", value].map(|text| path.replace('*', text)));
        let paths = paths.map(|path| format!("{beginning}{path}"));
        // No route serves a path with an empty segment inside.
        paths.filter(|path| !path.contains("//")).collect()
    }

    /// A path of a route by which it serves a method.
    pub(super) fn path(&self, index: usize, method: &str) -> Option<String> {
        let route = self.route(index)?;
        let templates = match route.kind {
            RouteKind::Tunnel => return Some(String::new()),
            RouteKind::Mount | RouteKind::Proxy => {
                vec![route.template(), route.path.clone()]
            }
            RouteKind::Fallback | RouteKind::NotFound => vec!["/{*path}".to_owned()],
            RouteKind::Handler | RouteKind::Probe => vec![route.path.clone()],
        };
        let examples = &self.example_paths;
        let paths = templates
            .iter()
            .flat_map(|template| [examples.short_path_of(template), examples.path_of(template)]);
        paths.into_iter().find(|path| self.serves(index, method, path))
    }

    /// Whether a route serves a method of a path, and no other route does.
    pub(super) fn serves(&self, index: usize, method: &str, path: &str) -> bool {
        self.side.engine.index_by_path(method, path) == Some(index)
    }

    /// A request that gets through, of those that a question is about.
    pub(super) fn answer(
        &mut self,
        index: usize,
        (method, path): (&str, &str),
        question: Question<'_>,
        budget: &mut Budget,
    ) -> Result<Option<RequestProbe>, CheckError> {
        budget.spend(1)?;
        let Some(route) = self.route(index) else { return Ok(None) };
        let none = RouteRequirement::default();
        let requirement = route.auth.requirement().unwrap_or(&none);
        let key = Key {
            policy: self.policies.get(index).copied().unwrap_or_default(),
            method: class_of(method).to_owned(),
            callers: question.callers.cloned(),
            roles: allowed_names(&requirement.roles, question.roles),
            scopes: allowed_names(&requirement.scopes, question.scopes),
            from: match question.from {
                From::Anywhere => 0,
                From::Forged => 1,
                From::Pages(_, rule) => 2 + rule,
            },
        };
        if let Some(known) = self.answers.get(&key) {
            return Ok(known.clone());
        }
        budget.spend(200)?;
        let login = |issuer| Login {
            scopes: key.scopes.clone(),
            // One of them is enough.
            roles: key.roles.iter().take(1).cloned().collect(),
            age: Some(0),
            issuer,
        };
        let callers = self.callers(route, method, login);
        let found = self.senders((route, method), question.from).into_iter().find_map(|sender| {
            let mut callers = callers.iter();
            let credentials = callers.find(|credentials| {
                self.gets_through(index, (method, path), (&sender, credentials), question).is_some()
            })?;
            Some((sender, credentials.clone()))
        });
        self.answers.insert(key, found.clone());
        Ok(found)
    }

    /// The credentials with the most rights of each kind: more rights never close a route.
    fn callers(
        &self,
        route: &ManifestRoute,
        method: &str,
        login: impl Fn(Option<String>) -> Login,
    ) -> Vec<Credentials> {
        let none = RouteRequirement::default();
        let requirement = route.auth.requirement().unwrap_or(&none);
        let valid = |issuer| Slot::Valid(login(issuer));
        let mut callers = vec![Credentials::default()];
        if let Some(query) = script_query(route, method) {
            let extra = Extra { query: Some(query), ..Extra::default() };
            callers.push(Credentials { extra, ..Credentials::default() });
        }
        if !matches!(route.kind, RouteKind::Handler | RouteKind::Probe | RouteKind::Tunnel) {
            callers.push(Credentials { cookie: Cookie::Other, ..Credentials::default() });
        }
        if requirement.session || route.takes_session {
            let cookie = Cookie::Session(valid(None));
            let has_csrf = !method::is_safe(method);
            callers.push(Credentials { cookie, has_csrf, ..Credentials::default() });
        }
        let mut issuers: Vec<Option<String>> = match requirement.issuers.is_empty() {
            true => vec![None],
            false => Vec::new(),
        };
        let accepted =
            self.side.manifest.app.tokens.iter().flat_map(|facts| &facts.accepts).take(1);
        let accepted = accepted.filter(|_| requirement.issuers.is_empty());
        issuers.extend(accepted.map(|facts| Some(facts.issuer.clone())));
        let named = requirement.issuers.iter();
        issuers.extend(named.map(|issuer| (issuer != OWN_ISSUER).then(|| issuer.clone())));
        for issuer in issuers {
            if requirement.token {
                let bearer = valid(issuer.clone());
                callers.push(Credentials { bearer, ..Credentials::default() });
            }
            if requirement.ticket {
                callers.push(Credentials { ticket: valid(issuer), ..Credentials::default() });
            }
        }
        if requirement.scheme.is_some() {
            callers.push(Credentials { scheme: valid(None), ..Credentials::default() });
        }
        callers
    }

    fn senders(&self, (route, method): (&ManifestRoute, &str), from: From<'_>) -> Vec<Sender> {
        let granted = || route.cors.as_ref().map(crate::RouteCors::region).unwrap_or_default();
        let of_pages = |regions: &[OriginRegion]| {
            let own = self.side.identity.origin.parse::<OriginRegion>().unwrap_or_default();
            let witnesses = regions.iter().filter_map(|region| region.difference(&own).witness());
            let stated = witnesses.map(|page| HeaderOrigin::Other(page.origin().to_owned(), 0));
            let sites = [Some("cross-site"), Some("same-site"), None];
            let pages = stated.flat_map(|origin| {
                sites.map(|site| Sender { origin: origin.clone(), site, ..Sender::default() })
            });
            pages.collect::<Vec<_>>()
        };
        match from {
            From::Anywhere => {
                let site = Some("same-origin");
                let own = Sender { origin: HeaderOrigin::Own, site, ..Sender::default() };
                vec![Sender::default(), own]
            }
            From::Pages(region, _) => {
                let (granted, null) = (granted(), OriginRegion::null());
                let mut pages = of_pages(&[
                    region.intersection(&granted).difference(&null),
                    region.difference(&granted).difference(&null),
                    region.intersection(&null),
                ]);
                if script_query(route, method).is_some() && !pages.is_empty() {
                    // The request for a script states no origin.
                    pages.push(Sender { site: Some("cross-site"), ..Sender::default() });
                }
                pages
            }
            From::Forged => {
                let named = match &route.cors {
                    Some(cors) if cors.credentials => granted(),
                    _ => OriginRegion::empty(),
                };
                let (others, null) = (named.complement(), OriginRegion::null());
                let mut pages = of_pages(&[others.difference(&null), others.intersection(&null)]);
                // Forms of old browsers do not state an origin.
                let sites = [Some("cross-site"), Some("same-site")];
                pages.extend(sites.map(|site| Sender { site, ..Sender::default() }));
                pages
            }
        }
    }

    /// The decision about a request, if it gets through and the question is about it.
    pub(super) fn gets_through(
        &self,
        index: usize,
        (method, path): (&str, &str),
        (sender, credentials): (&Sender, &Credentials),
        question: Question<'_>,
    ) -> Option<Decision> {
        let request = probe::request((method, path), sender, credentials, &self.side.identity);
        let caller = credentials.caller();
        let decision = self.side.engine.decide(&request, &caller);
        if decision.outcome != Outcome::Reached || decision.route != Some(index) {
            return None;
        }
        let inspection = self.side.engine.inspect(&request, &caller);
        let (kind, is_ambient) = identified(inspection.caller?, inspection.ambient);
        let is_asked = match question.callers {
            Some(kinds) => kinds.contains(&kind),
            None => is_ambient || matches!(question.from, From::Anywhere),
        };
        let has = |name, value: &str| decision.cors.get(name).is_some_and(|it| it == value);
        let is_shared = decision.cors.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN);
        let is_script = credentials.extra.query.is_some()
            && sender.origin == HeaderOrigin::Absent
            && kind == CallerKind::Anonymous;
        let is_granted =
            is_shared && (!is_ambient || has(ACCESS_CONTROL_ALLOW_CREDENTIALS, "true"));
        let may_read = is_granted || is_script;
        let has_effect = match question.from {
            From::Anywhere => true,
            From::Pages(..) => may_read || !method::is_safe(method),
            From::Forged => !method::is_safe(method),
        };
        (is_asked && has_effect).then_some(decision)
    }
}

/// The query by which a page loads the response of a method as a script, if it is served as one.
fn script_query(route: &ManifestRoute, method: &str) -> Option<String> {
    let jsonp = route.jsonp.as_ref().filter(|_| method == "GET")?;
    Some(format!("{}=f", jsonp.callback))
}

/// How the app identifies a caller, and whether browsers add the credential themselves. A service
/// behind the route may use cookies of its own.
fn identified(facts: CallerFacts, ambient: AmbientCredential) -> (CallerKind, bool) {
    match facts {
        CallerFacts::Nobody { handler: Some(Some(_)) } | CallerFacts::Session { .. } => {
            (CallerKind::Session, true)
        }
        CallerFacts::Nobody { .. } => (CallerKind::Anonymous, ambient == AmbientCredential::Cookie),
        CallerFacts::Token => (CallerKind::Token, false),
        CallerFacts::Ticket => (CallerKind::Ticket, false),
        CallerFacts::Scheme { is_ambient, .. } => (CallerKind::Scheme, is_ambient),
    }
}

impl<'q> Question<'q> {
    pub(super) fn new(never: &'q Never, rule: usize) -> Self {
        let Never { callers, roles, scopes, origins, .. } = never;
        let from = origins.as_ref().map_or(From::Anywhere, |region| From::Pages(region, rule));
        Self { callers: callers.as_ref(), roles, scopes, from }
    }
}

/// The names that a route requires and a caller may have.
fn allowed_names(required: &[String], set: &NameSet) -> Vec<String> {
    required.iter().filter(|name| set.contains(name)).cloned().collect()
}
