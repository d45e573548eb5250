//! A route violates a rule exactly if it admits a request that the rule forbids. The oracle sends
//! every request to the engine: each caller of a few roles and scopes, from each page, to paths of
//! each route.
#![expect(clippy::indexing_slicing, reason = "what a test cannot do without fails it")]

use std::collections::BTreeSet;

use http::Request;
use policy_core::{method::is_safe, time::Timestamp};
use policy_core_tests::law::{Precondition, holds_in_fewer};
use policy_manifest::{
    AppScheme, Auth, Csrf, Date, Manifest, ManifestRoute, RouteCors, RouteKind, RouteOrigins,
    RouteRequirement, SessionFacts, TokenFacts,
    algebra::OriginRegion,
    engine::{CredentialState, CsrfTokenState, Engine, Login, Outcome, RequestCredentials},
    rules::{CheckedPolicy, Rules, check, glob_matches},
};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
};

use crate::texts;

const OWN: &str = "https://api.example";
const ROLES: [&str; 2] = ["admin", "staff"];
const SCOPES: [&str; 2] = ["read", "write"];
const KINDS: [&str; 5] = ["anonymous", "session", "token", "ticket", "scheme"];
const PAGES: [&str; 4] =
    ["https://evil.example", "https://partner.test", "https://x.partner.test", "null"];

fn auth() -> impl Strategy<Value = Auth> {
    let rights = (subsequence(&ROLES[..], 0..=2), subsequence(&SCOPES[..], 0..=2));
    let credentials = subsequence(&KINDS[1..], 1..=3);
    let required = (credentials, rights, any::<bool>(), select(&[None, None, Some(600)][..]));
    let required = required.prop_map(|(kinds, (roles, scopes), ambient, fresh)| {
        let has = |kind: &str| kinds.contains(&kind);
        // A scheme is the only credential of a route.
        let scheme = has("scheme").then(|| AppScheme { name: "key".to_owned(), ambient });
        let others = scheme.is_none();
        let optional = roles.is_empty() && scopes.is_empty() && fresh.is_none() && ambient;
        let mut requirement = RouteRequirement { optional, fresh, ..RouteRequirement::default() };
        requirement.session = has("session") && others;
        requirement.token = has("token") && others;
        requirement.ticket = has("ticket") && others;
        (requirement.roles, requirement.scopes) = (texts(&roles), texts(&scopes));
        requirement.scheme = scheme;
        Auth::Required(requirement)
    });
    prop_oneof![1 => Just(Auth::Public), 3 => required]
}

fn cors() -> impl Strategy<Value = Option<RouteCors>> {
    let origins =
        select(&["https://partner.test", "https://*.partner.test", "https://evil.example"][..]);
    let some = (origins, any::<bool>()).prop_map(|(origin, credentials)| {
        Some(RouteCors {
            credentials,
            ..RouteCors::new(RouteOrigins::Listed(vec![origin.to_owned()]))
        })
    });
    prop_oneof![Just(None), some]
}

const PLACES: [(RouteKind, &str); 7] = [
    (RouteKind::Handler, "/a"),
    (RouteKind::Handler, "/a/{x}"),
    (RouteKind::Handler, "/b"),
    (RouteKind::Handler, "/{p}"),
    (RouteKind::Mount, "/m"),
    (RouteKind::Mount, "/a/b"),
    (RouteKind::Fallback, "*"),
];

fn app() -> impl Strategy<Value = Manifest> {
    let csrf = select(vec![
        Csrf::Token,
        Csrf::Origin,
        Csrf::OriginElseToken,
        Csrf::Exempt("why".to_owned()),
    ]);
    let parts =
        (auth(), cors(), csrf, any::<bool>(), subsequence(&["GET", "POST", "PUT"][..], 1..=3));
    let routes = (subsequence(&PLACES[..], 1..=5), vec(parts, 5));
    routes.prop_map(|(places, parts)| {
        let mut manifest = Manifest::new();
        manifest.app.public_origin = Some(OWN.to_owned());
        manifest.app.sessions = Some(SessionFacts::new("memory", "__Host-sid", "lax"));
        let mut tokens = TokenFacts::default();
        tokens.issuer = Some(OWN.to_owned());
        manifest.app.tokens = Some(tokens);
        let routes = places.into_iter().zip(parts);
        let routes = routes.map(|((kind, path), (auth, cors, csrf, takes, methods))| {
            let methods = if kind == RouteKind::Fallback { Vec::new() } else { methods };
            let mut route = ManifestRoute::new(kind, path, methods, auth);
            route.takes_session = takes && kind == RouteKind::Handler;
            (route.cors, route.csrf) = (cors, csrf);
            route
        });
        manifest.routes = routes.collect();
        manifest.normal()
    })
}

/// A rule, and what it forbids.
#[derive(Clone, Debug)]
struct Drawn {
    methods: Option<&'static str>,
    glob: &'static str,
    against: Against,
}

#[derive(Clone, Debug)]
enum Against {
    Public,
    Csrf,
    Callers {
        kinds: Option<Vec<&'static str>>,
        roles: Rights,
        scopes: Rights,
        origin: Option<&'static str>,
    },
}

/// All callers, or those with or without these rights.
type Rights = Option<(bool, Vec<&'static str>)>;

fn rights(names: &'static [&'static str]) -> impl Strategy<Value = Rights> {
    let some = (any::<bool>(), subsequence(names, 1..=names.len())).prop_map(Some);
    prop_oneof![2 => Just(None), 2 => some]
}

fn rule() -> impl Strategy<Value = Drawn> {
    let kinds = prop_oneof![
        2 => Just(None),
        1 => subsequence(&KINDS[..], 1..=3).prop_map(Some),
    ];
    let origins = select(
        &[None, None, Some("https://partner.test"), Some("https://*.partner.test"), Some("*")][..],
    );
    let callers = (kinds, rights(&ROLES), rights(&SCOPES), origins);
    let callers = callers.prop_map(|(kinds, roles, scopes, origin)| {
        let is_anonymous = kinds.as_deref() == Some(&["anonymous"]);
        let [roles, scopes] = [roles, scopes].map(|rights| rights.filter(|_| !is_anonymous));
        Against::Callers { kinds, roles, scopes, origin }
    });
    let against = prop_oneof![1 => Just(Against::Public), 1 => Just(Against::Csrf), 4 => callers];
    let methods = select(&[None, None, Some("GET"), Some("POST,PUT")][..]);
    let some = &["/a", "/a/**", "/a/*", "/*", "/m/**", "/q/**", "*"][..];
    let glob = prop_oneof![1 => select(&["**", "/**"][..]), 1 => select(some)];
    (methods, glob, against).prop_filter_map(
        "a rule that always holds",
        |(methods, glob, against)| {
            let is_vacuous = matches!(against, Against::Csrf) && methods == Some("GET");
            (!is_vacuous).then_some(Drawn { methods, glob, against })
        },
    )
}

impl Drawn {
    fn text(&self) -> String {
        let methods = self.methods.map(|methods| format!("{methods} ")).unwrap_or_default();
        let routes = format!("routes = [\"{methods}{}\"]\n", self.glob);
        let mut text = match &self.against {
            Against::Public => return format!("[public]\n{routes}"),
            Against::Csrf => return format!("[require.a]\n{routes}csrf = true\n"),
            Against::Callers { .. } => format!("[never.a]\n{routes}"),
        };
        if let Against::Callers { kinds, roles, scopes, origin } = &self.against {
            if let Some(kinds) = kinds {
                text += &format!("callers = {kinds:?}\n");
            }
            for (name, rights) in [("roles", roles), ("scopes", scopes)] {
                if let Some((is_only, names)) = rights {
                    let without = if *is_only { "" } else { "without-" };
                    text += &format!("{without}{name} = {names:?}\n");
                }
            }
            if let Some(origin) = origin {
                text += &format!("origins = [{origin:?}]\n");
            }
        }
        text
    }

    /// Whether the rule is about a method of a route.
    fn selects(&self, engine: &Engine, manifest: &Manifest, route: usize, method: &str) -> bool {
        let own = &manifest.routes[route];
        let is_method = self.methods.is_none_or(|named| named.split(',').any(|it| it == method));
        // Paths of the parts of the glob, and of segments that no route names.
        let words: Vec<&str> = self
            .glob
            .split('/')
            .filter(|word| !word.is_empty() && !word.contains('*'))
            .chain(["q"])
            .collect();
        let meets = || {
            paths(&words).iter().any(|path| {
                glob_matches(self.glob, path) && serves(engine, manifest, route, method, path)
            })
        };
        let is_listed = glob_matches(self.glob, &own.path);
        is_method && (is_listed || (!matches!(self.against, Against::Public) && meets()))
    }
}

/// All paths of up to four of these segments.
fn paths(words: &[&str]) -> Vec<String> {
    let mut paths = vec![String::new()];
    let mut last = paths.clone();
    for _ in 0..4 {
        last = last
            .iter()
            .flat_map(|path| words.iter().map(move |word| format!("{path}/{word}")))
            .collect();
        paths.extend(last.clone());
    }
    let slashed: Vec<_> = paths.iter().map(|path| format!("{path}/")).collect();
    paths.into_iter().chain(slashed).filter(|path| !path.is_empty()).collect()
}

fn serves(engine: &Engine, manifest: &Manifest, route: usize, method: &str, path: &str) -> bool {
    engine.serving(method, path) == Some(&manifest.routes[route])
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug)]
struct Sender {
    origin: Option<&'static str>,
    site: Option<&'static str>,
}

fn senders() -> Vec<Sender> {
    let mut senders = vec![Sender { origin: None, site: None }];
    for origin in PAGES {
        for site in [None, Some("cross-site"), Some("same-site")] {
            senders.push(Sender { origin: Some(origin), site });
        }
    }
    for site in ["cross-site", "same-site"] {
        senders.push(Sender { origin: None, site: Some(site) });
    }
    senders.extend([None, Some("same-origin")].map(|site| Sender { origin: Some(OWN), site }));
    senders.push(Sender { origin: None, site: Some("same-origin") });
    senders
}

/// A credential, its login, and whether the CSRF token is there.
#[derive(Clone, Debug)]
struct Caller {
    kind: &'static str,
    login: Login,
    has_csrf: bool,
}

fn callers() -> Vec<Caller> {
    let sets = |names: &[&'static str; 2]| {
        (0..4)
            .map(|bits: usize| {
                let held = names.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
                held.map(|(_, name)| (*name).to_owned()).collect::<Vec<_>>()
            })
            .collect::<Vec<_>>()
    };
    let mut callers = vec![
        Caller { kind: "anonymous", login: Login::default(), has_csrf: false },
        Caller { kind: "cookie", login: Login::default(), has_csrf: false },
    ];
    for kind in &KINDS[1..] {
        for roles in sets(&ROLES) {
            for scopes in sets(&SCOPES) {
                for age in [Some(0), Some(9_999)] {
                    let (roles, scopes) = (roles.clone(), scopes.clone());
                    let login = Login { roles, scopes, age, issuer: None };
                    for has_csrf in [false, true] {
                        if has_csrf <= (*kind == "session") {
                            callers.push(Caller { kind, login: login.clone(), has_csrf });
                        }
                    }
                }
            }
        }
    }
    callers
}

fn request(method: &str, path: &str, sender: Sender, caller: &Caller) -> Request<()> {
    let query = if caller.kind == "ticket" { "?ticket=t" } else { "" };
    let mut request = Request::builder().method(method).uri(format!("{path}{query}"));
    request = request.header("host", "api.example");
    if let Some(origin) = sender.origin {
        request = request.header("origin", origin);
    }
    if let Some(site) = sender.site {
        request = request.header("sec-fetch-site", site);
    }
    match caller.kind {
        "session" => request = request.header("cookie", "__Host-sid=session"),
        "cookie" => request = request.header("cookie", "theme=dark"),
        "token" => request = request.header("authorization", "Bearer token"),
        _ => (),
    }
    if caller.has_csrf {
        request = request.header("x-csrf-token", "token");
    }
    request.body(()).expect("a request")
}

fn credentials(caller: &Caller) -> RequestCredentials {
    let mut credentials = RequestCredentials::default();
    let valid = CredentialState::Valid(caller.login.clone());
    match caller.kind {
        "session" => credentials.session = valid,
        "token" => credentials.token = valid,
        "ticket" => credentials.ticket = valid,
        "scheme" => credentials.scheme = valid,
        _ => (),
    }
    if caller.has_csrf {
        credentials.csrf = CsrfTokenState::Valid;
    }
    credentials
}

fn may_have(rights: &Rights, held: &[String]) -> bool {
    match rights {
        None => true,
        Some((true, names)) => held.iter().all(|name| names.contains(&name.as_str())),
        Some((false, names)) => !held.iter().any(|name| names.contains(&name.as_str())),
    }
}

/// Whether a rule names the page of a sender, or names no page.
fn names(against: &Against, sender: Sender) -> bool {
    let Against::Callers { origin: Some(origin), .. } = against else { return true };
    let region: OriginRegion = origin.parse().expect("an origin");
    sender.origin.is_some_and(|page| page != OWN && region.contains(page.as_bytes()))
}

/// Whether the app admits a request of a named sender that the rule forbids.
fn is_against(
    against: &Against,
    (engine, manifest): (&Engine, &Manifest),
    (route, method, path): (usize, &str, &str),
    sender: Sender,
    caller: &Caller,
) -> bool {
    let is_page = sender.origin.is_some_and(|origin| origin != OWN);
    let is_relevant = match against {
        Against::Public => caller.kind == "anonymous" && !is_page,
        Against::Csrf => !is_safe(method) && !caller.has_csrf && caller.kind != "anonymous",
        Against::Callers { roles, scopes, .. } => {
            may_have(roles, &caller.login.roles) && may_have(scopes, &caller.login.scopes)
        }
    };
    if !is_relevant {
        return false;
    }
    let decision = engine.decide(&request(method, path, sender, caller), &credentials(caller));
    if decision.outcome != Outcome::Reached || decision.route != Some(route) {
        return false;
    }
    let own = &manifest.routes[route];
    let takes_session = own.takes_session && caller.kind == "session";
    let kind = match decision.is_authenticated || takes_session {
        true => caller.kind,
        false => "anonymous",
    };
    let is_service = matches!(own.kind, RouteKind::Mount | RouteKind::Fallback);
    let is_ambient_scheme = matches!(
        &own.auth,
        Auth::Required(RouteRequirement { scheme: Some(AppScheme { ambient: true, .. }), .. })
    );
    let is_ambient = kind == "session"
        || (kind == "scheme" && is_ambient_scheme)
        || (kind == "anonymous" && is_service && matches!(caller.kind, "cookie" | "session"));
    match against {
        Against::Public => kind == "anonymous",
        Against::Csrf => {
            let is_named = |page: &&str| {
                own.cors
                    .as_ref()
                    .is_some_and(|cors| cors.credentials && cors.region().contains(page.as_bytes()))
            };
            let is_other = match (&sender.origin, sender.site) {
                (Some(page), _) => *page != OWN && !is_named(page),
                (None, Some(site)) => site != "same-origin",
                (None, None) => false,
            };
            is_ambient && is_other
        }
        Against::Callers { kinds, origin, .. } => {
            let is_kind = kinds
                .as_ref()
                .map_or(is_ambient || origin.is_none(), |kinds| kinds.contains(&kind));
            let header = |name: &str| decision.cors.get(name).and_then(|value| value.to_str().ok());
            let reads = header("access-control-allow-origin").is_some()
                && (!is_ambient || header("access-control-allow-credentials") == Some("true"));
            is_kind && (origin.is_none() || reads || !is_safe(method))
        }
    }
}

#[test]
fn a_rule_is_violated_by_the_requests_that_it_is_against() {
    let (senders, callers) = (senders(), callers());
    holds_in_fewer(4, "rules", 44, (app(), rule()), |(manifest, rule)| {
        let Ok(engine) = Engine::new(&manifest) else { return Ok(Precondition::Unmet) };
        let senders = senders.iter().filter(|sender| names(&rule.against, **sender));
        let senders: Vec<_> = senders.collect();
        let mut expected = BTreeSet::new();
        for (route, own) in manifest.routes.iter().enumerate() {
            let methods = match own.methods.as_slice() {
                [] => texts(&["GET", "POST", "PUT"]),
                methods => methods.to_vec(),
            };
            for method in methods {
                let is_selected = rule.selects(&engine, &manifest, route, &method);
                let all = paths(&["a", "b", "m", "q"]);
                let served = |path: &&String| serves(&engine, &manifest, route, &method, path);
                let Some(path) = all.iter().find(served) else { continue };
                let target = (route, method.as_str(), path.as_str());
                let gets_through = senders.iter().any(|sender| {
                    callers.iter().any(|caller| {
                        is_against(&rule.against, (&engine, &manifest), target, **sender, caller)
                    })
                });
                let is_violated = match rule.against {
                    Against::Public => gets_through != is_selected,
                    _ => gets_through && is_selected,
                };
                if is_violated {
                    expected.insert(format!("{method} {}", own.path));
                }
            }
        }
        let rules = Rules::parse("policy.rules", &rule.text()).expect("a rule");
        let policy = CheckedPolicy { name: "app", manifest: &manifest };
        let today = Date::from_timestamp(Timestamp::from_seconds(0));
        let checked = check(&rules, &[policy], today).expect("a policy");
        let mut found = BTreeSet::new();
        for violation in &checked.violations {
            let witness = violation.witness.as_ref().expect("a request");
            let again = engine.decide(&witness.request, &witness.caller);
            prop_assert_eq!(again.outcome, witness.decision.outcome);
            for route in &violation.routes {
                let (methods, path) = route.split_once(' ').unwrap_or(("GET,POST,PUT", route));
                let methods = methods.split(',').filter(|it| ["GET", "POST", "PUT"].contains(it));
                found.extend(methods.map(|method| format!("{method} {path}")));
            }
        }
        prop_assert_eq!(&found, &expected, "{}", rule.text());
        Ok(Precondition::met_if(!expected.is_empty()))
    });
}
