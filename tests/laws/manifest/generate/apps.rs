//! Manifests of apps that would start: paths of all kinds, with up to three policies each.

use std::collections::BTreeMap;

use policy_core::{
    isolation::Isolation,
    path::TrailingSlash,
    testing::{any_pattern, any_policy},
};
use policy_manifest::{
    AppScheme, Auth, Csrf, Dangers, Headers, IssuerFacts, Jsonp, Manifest, ManifestRoute,
    RouteCors, RouteKind, RouteOrigins, RouteRequirement, RuntimeOrigins, SessionFacts, TokenFacts,
    engine::{Engine, EngineError},
};
use proptest::{collection::vec, option, prelude::*, sample::select};

use crate::manifest::naive::Lists;

/// The origin of a deployment.
pub(crate) const OWN: &str = "https://own.example";
const COOKIE: &str = "__Host-sid";
pub(crate) const SCOPES: [&str; 2] = ["read", "write"];
pub(crate) const ROLES: [&str; 2] = ["admin", "user"];
/// Issuers other than the app.
pub(crate) const FOREIGN: [&str; 2] = ["https://id.example", "https://login.example"];
const LISTS: [&str; 2] = ["partners", "staff"];

const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "QUERY", "OPTIONS", "PURGE"];

/// The entries of the table of paths. If two of them match the same path, one is more specific.
const PATHS: [(&str, RouteKind); 16] = [
    ("/", RouteKind::Handler),
    ("/a", RouteKind::Handler),
    ("/a/", RouteKind::Handler),
    ("/a/x", RouteKind::Handler),
    ("/a/{id}", RouteKind::Handler),
    ("/a/{id}/b", RouteKind::Handler),
    ("/a/{id}/{name:slashes}", RouteKind::Handler),
    ("/a/{id}/{name:slashes}/c", RouteKind::Handler),
    ("/f/{*rest}", RouteKind::Handler),
    ("/f/x", RouteKind::Handler),
    ("/g/{*rest:slashes}", RouteKind::Handler),
    ("/g/x/y", RouteKind::Handler),
    ("/m", RouteKind::Mount),
    ("/a/m", RouteKind::Mount),
    ("/up", RouteKind::Proxy),
    ("/health", RouteKind::Probe),
];

/// An app, and the present entries of its run-time lists.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) manifest: Manifest,
    pub(crate) lists: Lists,
}

impl Site {
    pub(crate) fn engine(&self) -> Engine {
        self.engine_of(&self.manifest).expect("a manifest that starts")
    }

    /// An engine of a manifest, with the lists of this site.
    pub(crate) fn engine_of(&self, manifest: &Manifest) -> Result<Engine, EngineError> {
        Engine::with_lists(manifest, |name| self.lists.get(name).map(Vec::as_slice))
    }

    /// The patterns of all its policies: pages of these origins may read or act somewhere.
    pub(crate) fn patterns(&self) -> Vec<String> {
        let of_route = |route: &ManifestRoute| match route.cors.as_ref().map(|cors| &cors.origins) {
            None => Vec::new(),
            Some(RouteOrigins::Listed(origins)) => origins.clone(),
            Some(RouteOrigins::AtRunTime(list)) => match self.lists.get(&list.list) {
                Some(present) => present.clone(),
                None => list.within.clone().unwrap_or_default(),
            },
        };
        self.manifest.routes.iter().flat_map(of_route).collect()
    }
}

/// What a route states.
#[derive(Clone, Debug)]
struct Stated {
    auth: Auth,
    csrf: Csrf,
    takes_session: bool,
    /// The number of a policy of the app.
    cors: Option<usize>,
    /// Whether its lists are written with more entries than it needs.
    is_wordy: bool,
    isolation: Option<Isolation>,
    jsonp: Option<Jsonp>,
    body: Option<u64>,
}

/// The policies of one path, by their numbers, and which of its methods has which.
#[derive(Clone, Debug)]
struct PathPlan {
    stated: [usize; 3],
    /// A number above those is a method that the path does not serve.
    methods: Vec<usize>,
    takes_slashes: bool,
}

pub(crate) fn site() -> impl Strategy<Value = Site> + Clone {
    let facts = (
        prop::bool::weighted(0.6),
        prop::bool::weighted(0.75),
        option::weighted(0.75, (any::<bool>(), 0..=FOREIGN.len())),
        prop::bool::weighted(0.15),
        prop::bool::weighted(0.1),
        prop_oneof![
            2 => Just(TrailingSlash::Strict),
            1 => Just(TrailingSlash::Redirect),
            1 => Just(TrailingSlash::Same),
        ],
    );
    let paths = (vec(declaration(), 2..6), vec(option::weighted(0.4, path_plan()), PATHS.len()));
    let elsewhere = (prop::bool::weighted(0.4), 0..6_usize, prop::bool::weighted(0.3));
    let lists =
        vec((option::weighted(0.7, origins()), option::weighted(0.6, vec(0..8_usize, 0..4))), 2);
    (facts, vec(cors(), 1..4), paths, elsewhere, lists).prop_filter_map(
        "a manifest that starts",
        |(
            (is_public, has_sessions, tokens, trace, proxies, trailing_slash),
            policies,
            (stated, paths),
            elsewhere,
            lists,
        )| {
            let mut manifest = Manifest::new();
            let app = &mut manifest.app;
            app.public_origin = is_public.then(|| OWN.to_owned());
            app.sessions = has_sessions.then(|| SessionFacts::new("memory", COOKIE, "lax"));
            app.tokens = tokens.map(|(signs, foreign)| {
                let mut facts = TokenFacts::default();
                facts.issuer = (signs || foreign == 0).then(|| OWN.to_owned());
                let accepts = FOREIGN.iter().take(foreign).copied();
                facts.accepts = accepts.map(IssuerFacts::new).collect();
                facts
            });
            app.trace = trace;
            app.trailing_slash = trailing_slash;
            app.proxies = proxies.then(|| "10.0.0.0/8".to_owned()).into_iter().collect();
            let bounds: Vec<Option<Vec<String>>> =
                lists.iter().map(|(bound, _)| bound.clone()).collect();
            let policies: Vec<RouteCors> =
                policies.into_iter().map(|policy| policy.with_bound(&bounds)).collect();
            for ((path, kind), plan) in PATHS.iter().zip(&paths) {
                if let Some(plan) = plan {
                    add(&mut manifest, (path, *kind), plan, (&stated, &policies));
                }
            }
            let (has_fallback, number, has_tunnel) = elsewhere;
            let stated = &stated[number % stated.len()];
            let kind = if has_fallback { RouteKind::Fallback } else { RouteKind::NotFound };
            let mut route = route(&manifest, ("*", kind), stated, &policies);
            if !has_fallback {
                route.auth = Auth::Public;
                route.isolation = None;
            }
            manifest.routes.push(route);
            manifest.routes.extend(has_tunnel.then(|| tunnel_of(&manifest, stated)));
            add_headers(&mut manifest);
            let named = LISTS.iter().zip(lists).filter_map(|(name, (bound, chosen))| {
                let bound = bound.unwrap_or_else(|| vec!["https://*.anywhere.test".to_owned()]);
                let one = |number: usize| narrower(&bound[number % bound.len()], number);
                Some(((*name).to_owned(), chosen?.into_iter().map(one).collect()))
            });
            let site = Site { manifest, lists: named.collect() };
            site.engine_of(&site.manifest).is_ok().then_some(site)
        },
    )
}

fn add(
    manifest: &mut Manifest,
    path: (&str, RouteKind),
    plan: &PathPlan,
    (stated, policies): (&[Stated], &[RouteCors]),
) {
    if path.1 == RouteKind::Probe {
        manifest.routes.push(ManifestRoute::new(RouteKind::Probe, path.0, ["GET"], Auth::Public));
        return;
    }
    let mut methods: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (method, number) in METHODS.iter().zip(&plan.methods) {
        // What is mounted has one policy.
        let is_handler = path.1 == RouteKind::Handler;
        if let Some(number) = plan.stated.get(*number) {
            let number = if is_handler { *number } else { plan.stated[0] };
            methods.entry(number % stated.len()).or_default().push(method);
        }
    }
    for (number, methods) in methods {
        let mut route = route(manifest, path, &stated[number], policies);
        route.methods = methods.into_iter().map(str::to_owned).collect();
        route.takes_slashes = plan.takes_slashes && path.1 != RouteKind::Handler;
        // Scripts are loaded by GET alone.
        match route.methods.iter().any(|method| method == "GET") {
            true if route.jsonp.is_some() => route.methods = vec!["GET".to_owned()],
            _ => route.jsonp = None,
        }
        manifest.routes.push(route);
    }
}

/// Security headers, which decide nothing; one set that no route refers to.
fn add_headers(manifest: &mut Manifest) {
    let names = ["deny", "same-origin", "unused"].map(|value| {
        let mut headers = Headers::default();
        headers.every.insert("x-frame-options".to_owned(), value.to_owned());
        manifest.add_headers(headers)
    });
    for route in &mut manifest.routes {
        route.headers = Some(names[usize::from(route.isolation.is_some())].clone());
    }
}

/// A route with these statements, without those that the app cannot have.
fn route(
    manifest: &Manifest,
    (path, kind): (&str, RouteKind),
    stated: &Stated,
    policies: &[RouteCors],
) -> ManifestRoute {
    let app = &manifest.app;
    let mut route = ManifestRoute::new(kind, path, [""; 0], possible(manifest, &stated.auth));
    route.csrf = stated.csrf.clone();
    let is_handler = kind == RouteKind::Handler;
    route.takes_session = stated.takes_session && app.sessions.is_some() && is_handler;
    route.cors = stated.cors.map(|number| policies[number % policies.len()].clone());
    if stated.is_wordy {
        route.cors = route.cors.as_ref().map(wordy);
    }
    route.isolation = stated.isolation;
    let may_be_script = is_handler && route.auth == Auth::Public && !route.takes_session;
    route.jsonp = stated.jsonp.clone().filter(|_| may_be_script);
    route.limits.body = stated.body;
    route
}

fn tunnel_of(manifest: &Manifest, stated: &Stated) -> ManifestRoute {
    let auth = match possible(manifest, &stated.auth) {
        Auth::Required(required) => Auth::Required(RouteRequirement {
            session: false,
            ticket: false,
            scheme: None,
            token: manifest.app.tokens.is_some(),
            ..required
        }),
        Auth::Public => Auth::Public,
    };
    let mut route = ManifestRoute::new(RouteKind::Tunnel, "", ["CONNECT"], auth);
    if route.auth != Auth::Public {
        route.csrf = Csrf::Exempt("no page can send CONNECT".to_owned());
    }
    route.targets = vec!["db.example:5432".to_owned()];
    route
}

/// The stated credentials that the app has.
fn possible(manifest: &Manifest, auth: &Auth) -> Auth {
    let app = &manifest.app;
    let Auth::Required(stated) = auth else { return Auth::Public };
    let mut required = stated.clone();
    required.session &= app.sessions.is_some();
    required.token &= app.tokens.is_some();
    required.ticket &= app.tokens.is_some();
    match &app.tokens {
        Some(tokens) if required.token || required.ticket => {
            required.issuers.retain(|issuer| match issuer.as_str() {
                "own" => tokens.issuer.is_some(),
                issuer => tokens.accepts.iter().any(|facts| facts.issuer == issuer),
            });
        }
        _ => required.issuers.clear(),
    }
    let has_any =
        required.session || required.token || required.ticket || required.scheme.is_some();
    if has_any { Auth::Required(required) } else { Auth::Public }
}

fn path_plan() -> impl Strategy<Value = PathPlan> + Clone {
    let (number, methods) = (0..6_usize, vec(0..6_usize, METHODS.len()));
    ([number.clone(), number.clone(), number], methods, any::<bool>())
        .prop_map(|(stated, methods, takes_slashes)| PathPlan { stated, methods, takes_slashes })
}

fn declaration() -> impl Strategy<Value = Stated> + Clone {
    let csrf = prop_oneof![
        3 => Just(Csrf::Token),
        1 => Just(Csrf::OriginElseToken),
        1 => Just(Csrf::Origin),
        1 => Just(Csrf::Exempt("signed by its sender".to_owned())),
    ];
    let isolation = select(&[Isolation::SameOrigin, Isolation::SameSite][..]);
    let jsonp = any::<bool>().prop_map(|dotted| Jsonp { callback: "callback".to_owned(), dotted });
    (
        auth(),
        csrf,
        prop::bool::weighted(0.2),
        option::weighted(0.7, 0..3_usize),
        prop::bool::weighted(0.3),
        option::weighted(0.3, isolation),
        option::weighted(0.6, jsonp),
        option::weighted(0.4, select(&[0, 100, 1_000_000][..])),
    )
        .prop_map(|(auth, csrf, takes_session, cors, is_wordy, isolation, jsonp, body)| {
            Stated { auth, csrf, takes_session, cors, is_wordy, isolation, jsonp, body }
        })
}

/// Some of these names.
pub(super) fn some_of(
    names: &'static [&'static str],
) -> impl Strategy<Value = Vec<String>> + Clone {
    (0..1_usize << names.len()).prop_map(move |chosen| {
        let is_chosen = |index: &usize| chosen >> index & 1 == 1;
        let indices = (0..names.len()).filter(is_chosen);
        indices.map(|index| names[index].to_owned()).collect()
    })
}

fn auth() -> impl Strategy<Value = Auth> + Clone {
    let scheme = any::<bool>().prop_map(|ambient| AppScheme { name: "signed".to_owned(), ambient });
    let credentials = (
        prop::bool::weighted(0.7),
        prop::bool::weighted(0.55),
        prop::bool::weighted(0.4),
        option::weighted(0.15, scheme),
        prop::bool::weighted(0.25),
    );
    let issuers = option::weighted(0.3, some_of(&["own", FOREIGN[0], FOREIGN[1]]));
    let rights = (
        option::weighted(0.3, some_of(&SCOPES)),
        option::weighted(0.3, some_of(&ROLES)),
        option::weighted(0.2, Just(60)),
    );
    let required = (credentials, issuers, rights).prop_map(
        |((session, token, ticket, scheme, optional), issuers, (scopes, roles, fresh))| {
            Auth::Required(RouteRequirement {
                // A scheme takes the place of a session.
                session: session && scheme.is_none(),
                token,
                ticket,
                scheme,
                optional,
                issuers: issuers.unwrap_or_default(),
                scopes: scopes.unwrap_or_default(),
                roles: roles.unwrap_or_default(),
                fresh,
            })
        },
    );
    prop_oneof![2 => Just(Auth::Public), 5 => required]
}

/// A CORS policy, or one of a run-time list whose bound is not known yet.
#[derive(Clone, Debug)]
struct CorsPlan {
    cors: RouteCors,
    list: Option<usize>,
}

impl CorsPlan {
    fn with_bound(self, bounds: &[Option<Vec<String>>]) -> RouteCors {
        let Self { mut cors, list } = self;
        if let Some(number) = list {
            let (list, within) = (LISTS[number].to_owned(), bounds[number].clone());
            cors.origins = RouteOrigins::AtRunTime(RuntimeOrigins { list, within, by: None });
            let both = Dangers { insecure_origins: true, public_suffix: true };
            cors.dangers = if cors.credentials { both } else { Dangers::default() };
        }
        cors
    }
}

fn cors() -> impl Strategy<Value = CorsPlan> + Clone {
    (any_policy(), option::weighted(0.3, 0..LISTS.len())).prop_map(|(config, list)| {
        let is_open = config.origins == ["*"];
        let cors = RouteCors {
            origins: RouteOrigins::Listed(config.origins),
            credentials: config.credentials,
            methods: config.methods,
            headers: config.headers,
            expose: config.expose,
            max_age: config.max_age,
            dangers: Dangers {
                insecure_origins: config.dangerous_insecure_origins,
                public_suffix: config.dangerous_public_suffix,
            },
        };
        CorsPlan { cors, list: list.filter(|_| !is_open) }
    })
}

fn origins() -> impl Strategy<Value = Vec<String>> + Clone {
    vec(any_pattern(), 1..4)
}

/// The same policy in more words: entries that others cover, twice and in another order, and names
/// in upper case.
pub(crate) fn wordy(cors: &RouteCors) -> RouteCors {
    let more = |patterns: &[String]| {
        let narrow = patterns.iter().enumerate().map(|(index, entry)| match entry.as_str() {
            "*" => entry.clone(),
            entry => narrower(entry, index),
        });
        let narrow: Vec<String> = narrow.collect();
        match patterns {
            [only] if only == "*" => vec![only.clone()],
            _ => patterns.iter().rev().cloned().chain(narrow).collect(),
        }
    };
    let loud = |names: &[String]| {
        names.iter().rev().map(|name| name.to_uppercase()).chain(names.iter().cloned()).collect()
    };
    let mut cors = cors.clone();
    match &mut cors.origins {
        RouteOrigins::Listed(patterns) => *patterns = more(patterns),
        RouteOrigins::AtRunTime(list) => list.within = list.within.as_deref().map(more),
    }
    cors.headers = loud(&cors.headers);
    cors.expose = loud(&cors.expose);
    if let Some(methods) = &mut cors.methods {
        let twice = methods.clone();
        methods.extend(twice);
    }
    cors
}

/// A pattern that another one covers.
fn narrower(pattern: &str, number: usize) -> String {
    match number % 3 {
        0 => pattern.replace("*.", "*.n."),
        1 => pattern.replace(":*", ":8443").replace("*.", "n."),
        _ => pattern.to_owned(),
    }
}
