mod files;
mod globs;

use policy_core::time::Timestamp;

use super::*;
use crate::{
    Auth, Csrf, Date, Headers, Jsonp, Manifest, ManifestRoute, RouteCors, RouteKind, RouteRate,
    RouteRequirement, SessionFacts, TokenFacts,
    engine::{Engine, Outcome},
    samples::{app, cors, id, order, partners, texts, token},
};

fn session(roles: &[&str]) -> Auth {
    let roles = texts(roles);
    Auth::Required(RouteRequirement { session: true, roles, ..RouteRequirement::default() })
}

fn route(methods: &[&str], path: &str, auth: Auth) -> ManifestRoute {
    ManifestRoute::handler(path, methods.iter().copied(), auth)
}

fn today() -> Date {
    Date::from_timestamp(Timestamp::from_seconds(1_800_000_000))
}

fn check_and_replay(rules: &str, manifest: &Manifest) -> CheckReport {
    let rules = Rules::parse("policy.rules", rules).unwrap();
    let checked = check(&rules, &[CheckedPolicy { name: "shop", manifest }], today()).unwrap();
    for violation in &checked.violations {
        replay(manifest, violation);
    }
    checked
}

/// What each violation is about.
fn abouts(rules: &str, manifest: &Manifest) -> Vec<String> {
    let violations = check_and_replay(rules, manifest).violations.into_iter();
    violations.map(|violation| violation.about).collect()
}

/// Asks a new engine about the witness.
fn replay(manifest: &Manifest, violation: &RuleViolation) {
    let Some(RuleWitness { request, caller, decision, .. }) = &violation.witness else {
        assert_eq!(violation.routes, ["app"]);
        return;
    };
    let manifest = manifest.clone().normal();
    let again = Engine::new(&manifest).unwrap().decide(request, caller);
    assert_eq!(again.outcome, decision.outcome, "{violation}");
    let route = manifest.routes.get(again.route.unwrap()).unwrap();
    let path = violation.routes.first().unwrap().rsplit(' ').next().unwrap();
    assert_eq!(route.path, path, "{violation}");
}

/// Each violation as its rule, its routes and the outcome of the witness.
fn violations(rules: &str, routes: Vec<ManifestRoute>) -> Vec<String> {
    let checked = check_and_replay(rules, &app(routes));
    assert_eq!(checked.problems, []);
    let violations = checked.violations.iter().map(|violation| {
        let outcome = match violation.witness.as_ref().unwrap().decision.outcome {
            Outcome::Reached => "reached",
            _ => "refused",
        };
        format!("{} {} {outcome}", violation.rule.id, violation.routes.join("; "))
    });
    violations.collect()
}

#[test]
fn listed_routes_are_public_and_no_other_route_is() {
    let rules = "[public]\nroutes = [\"GET /catalogue/**\", \"POST /login\"]";
    let login = || route(&["POST"], "/login", Auth::Public);
    let catalogue = |auth| route(&["GET"], "/catalogue/{id}", auth);
    let good = vec![login(), catalogue(Auth::Public), route(&["GET"], "/me", session(&[]))];
    assert_eq!(violations(rules, good), [""; 0]);
    let optional = RouteRequirement { session: true, optional: true, ..Default::default() };
    let bad = vec![
        login(),
        catalogue(session(&[])),
        route(&["GET", "PUT"], "/me", Auth::Required(optional)),
        route(&["DELETE"], "/login", Auth::Public),
    ];
    assert_eq!(
        violations(rules, bad),
        ["public GET /catalogue/{id} refused", "public DELETE /login; GET,PUT /me reached",]
    );
}

#[test]
fn callers_without_a_role_do_not_reach_a_route() {
    let rules = "[never.strangers]\nroutes = [\"/admin/**\"]\nwithout-roles = [\"admin\"]";
    let users = |auth| route(&["GET"], "/admin/users", auth);
    assert_eq!(violations(rules, vec![users(session(&["admin"]))]), [""; 0]);
    for auth in [session(&["admin", "staff"]), session(&[]), Auth::Public] {
        assert_eq!(
            violations(rules, vec![users(auth)]),
            ["never.strangers GET /admin/users reached"]
        );
    }
    let checked = check_and_replay(rules, &app(vec![users(session(&["admin", "staff"]))]));
    assert_eq!(checked.violations[0].about, "callers without the role `admin` reach it");
    assert_eq!(
        checked.violations[0].witness.as_ref().unwrap().credentials,
        "a session with the role `staff`"
    );
}

#[test]
fn callers_with_some_rights_only_do_not_reach_a_route() {
    let rules = "[never.support]\nroutes = [\"DELETE **\"]\nroles = [\"support\"]";
    let of = |roles: &[&str]| {
        let other = route(&["GET"], "/b", session(&["support"]));
        violations(rules, vec![route(&["DELETE"], "/a", session(roles)), other])
    };
    assert_eq!(of(&["admin"]), [""; 0]);
    assert_eq!(of(&["admin", "support"]), ["never.support DELETE /a reached"]);
    assert_eq!(of(&[]), ["never.support DELETE /a reached"]);
    let rules = "[never.readers]\nroutes = [\"PUT **\"]\nscopes = [\"orders:read\"]";
    let of = |scopes: &[&str]| {
        let token =
            |scopes: &[&str]| Auth::Required(RouteRequirement { scopes: texts(scopes), ..token() });
        let put = route(&["PUT"], "/a", token(scopes));
        violations(rules, vec![put, route(&["GET"], "/a", token(&["orders:read"]))])
    };
    assert_eq!(of(&["orders:read", "orders:write"]), [""; 0]);
    assert_eq!(of(&["orders:read"]), ["never.readers PUT /a reached"]);
}

#[test]
fn answers_are_those_of_the_rights_of_each_rule() {
    let of = |role: &str| {
        format!(
            "[never.{role}]\nroutes = [\"/a\"]\nroles = [\"{role}\"]\ncallers = [\"session\"]\n"
        )
    };
    let routes =
        vec![route(&["GET"], "/a", session(&["b"])), route(&["GET"], "/c", session(&["a"]))];
    assert_eq!(violations(&(of("a") + &of("b")), routes.clone()), ["never.b GET /a reached"]);
    assert_eq!(violations(&(of("b") + &of("a")), routes), ["never.b GET /a reached"]);
}

#[test]
fn pages_of_an_origin_do_not_act_for_their_visitors() {
    let rules = "[never.partner]\nroutes = [\"**\"]\norigins = [\"https://*.partner.example\"]";
    let of = |methods: &[&str], auth: Auth, cors: Option<RouteCors>| {
        violations(rules, vec![ManifestRoute { cors, ..route(methods, "/a", auth) }])
    };
    let partner = |credentials| Some(cors(&["https://x.partner.example"], credentials));
    assert_eq!(of(&["GET"], session(&[]), None), [""; 0]);
    assert_eq!(of(&["GET"], session(&[]), partner(false)), [""; 0]);
    assert_eq!(of(&["GET"], Auth::Public, partner(true)), [""; 0]);
    assert_eq!(of(&["GET"], session(&[]), Some(cors(&["https://a.example"], true))), [""; 0]);
    assert_eq!(of(&["GET"], session(&[]), partner(true)), ["never.partner GET /a reached"]);
    assert_eq!(of(&["PUT"], session(&[]), partner(true)), ["never.partner PUT /a reached"]);
    assert_eq!(of(&["PUT"], session(&[]), None), [""; 0]);
    // Without credentials they may read what anybody may.
    let rules = format!("{rules}\ncallers = [\"anonymous\"]");
    let public = |cors| vec![ManifestRoute { cors, ..route(&["GET"], "/a", Auth::Public) }];
    assert_eq!(violations(&rules, public(partner(false))), ["never.partner GET /a reached"]);
    assert_eq!(violations(&rules, public(None)), [""; 0]);
}

#[test]
fn every_page_reads_what_is_served_as_a_script() {
    let rules = "[never.pages]\nroutes = [\"**\"]\norigins = [\"https://a.example\"]\ncallers = ";
    let of = |auth: Auth, kind: &str| {
        let jsonp = Some(Jsonp { callback: "cb".to_owned(), dotted: false });
        let prices = ManifestRoute { jsonp, ..route(&["GET"], "/prices", auth) };
        violations(&format!("{rules}[\"{kind}\"]"), vec![prices])
    };
    assert_eq!(of(Auth::Public, "anonymous"), ["never.pages GET /prices reached"]);
    assert_eq!(of(Auth::Public, "session"), [""; 0]);
    assert_eq!(of(session(&[]), "anonymous"), [""; 0]);
}

#[test]
fn a_list_without_a_bound_may_name_every_page() {
    let rules = "[never.pages]\nroutes = [\"**\"]\norigins = [\"*\"]\ncallers = ";
    let of = |auth: Auth, within: Option<&[&str]>, kind: &str| {
        let credentials = auth != Auth::Public;
        let cors = Some(RouteCors { credentials, ..RouteCors::new(partners(within)) });
        let rules = format!("{rules}[\"{kind}\"]");
        violations(&rules, vec![ManifestRoute { cors, ..route(&["GET"], "/me", auth) }])
    };
    let reached = ["never.pages GET /me reached"];
    assert_eq!(of(session(&[]), None, "session"), reached);
    assert_eq!(of(session(&[]), None, "anonymous"), [""; 0]);
    for within in [None, Some(&["*"][..])] {
        assert_eq!(of(Auth::Public, within, "anonymous"), reached, "{within:?}");
    }
}

#[test]
fn a_glob_also_selects_the_route_that_serves_its_paths() {
    let rules = "[never.strangers]\nroutes = [\"/admin/**\"]\nwithout-roles = [\"admin\"]";
    let admin = || route(&["GET"], "/admin/{page}", session(&["admin"]));
    for other in [
        ManifestRoute::new(RouteKind::Mount, "/admin", ["GET"], Auth::Public),
        ManifestRoute::new(RouteKind::Fallback, "*", [""; 0], Auth::Public),
        route(&["GET"], "/{*rest}", Auth::Public),
    ] {
        let path = other.path.clone();
        let routes = if path == "/admin" { vec![other] } else { vec![admin(), other] };
        let found = violations(rules, routes);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(&format!(" {path} reached")), "{found:?}");
    }
    let other = route(&["GET"], "/{page}", Auth::Public);
    assert_eq!(violations(rules, vec![admin(), other]), [""; 0]);
    // A star also matches the empty text: no other route serves `/admin/`.
    let rules = rules.replace("**", "*");
    let other = route(&["GET"], "/{*rest}", Auth::Public);
    assert_eq!(violations(&rules, vec![admin(), other]), ["never.strangers GET /{*rest} reached"]);
}

#[test]
fn a_required_csrf_protection_keeps_other_pages_out() {
    let rules = "[require.csrf]\nroutes = [\"**\"]\ncsrf = true";
    let of = |csrf: Csrf, auth: Auth| {
        violations(rules, vec![ManifestRoute { csrf, ..route(&["GET", "POST"], "/a", auth) }])
    };
    let exempt = || Csrf::Exempt("why".to_owned());
    for csrf in [Csrf::Token, Csrf::OriginElseToken, Csrf::Origin] {
        assert_eq!(of(csrf, session(&[])), [""; 0]);
    }
    assert_eq!(of(exempt(), session(&[])), ["require.csrf POST /a reached"]);
    assert_eq!(of(exempt(), Auth::Public), [""; 0]);
    let mount = |csrf| {
        let mount = ManifestRoute::new(RouteKind::Mount, "/m", ["POST"], Auth::Public);
        violations(rules, vec![ManifestRoute { csrf, ..mount }])
    };
    assert_eq!(mount(Csrf::Token), [""; 0]);
    assert_eq!(mount(exempt()), ["require.csrf POST /m reached"]);
}

#[test]
fn a_required_rate_is_at_least_as_strict() {
    let of = |required: &str, rate: Option<(u32, u64)>| {
        let mut login = route(&["POST"], "/login", Auth::Public);
        login.limits.rate =
            rate.map(|(count, per_ms)| RouteRate { count, per_ms, by: Default::default() });
        let rules = format!("[require.rate]\nroutes = [\"POST /login\"]\nrate = \"{required}\"");
        violations(&rules, vec![login]).is_empty()
    };
    for (required, rate, holds) in [
        ("10/min", Some((10, 60_000)), true),
        ("10/min", Some((5, 60_000)), true),
        ("10/min", Some((11, 60_000)), false),
        ("10/min", Some((10, 59_000)), false),
        ("10/min", Some((600, 3_600_000)), false),
        ("10/min", None, false),
        ("10/min per address", Some((10, 60_000)), true),
        ("10/min per principal", Some((10, 60_000)), false),
    ] {
        assert_eq!(of(required, rate), holds, "{required} {rate:?}");
    }
}

#[test]
fn a_required_header_is_at_least_as_strict() {
    let rules = "[require.hsts]\nroutes = [\"**\"]\nheaders = { Strict-Transport-Security = \"max-age=100\", x-own = \"1\" }";
    let of = |fields: &[(&str, &str)]| {
        let mut manifest = app(Vec::new());
        let mut headers = Headers::default();
        for (name, value) in fields {
            headers.every.insert((*name).to_owned(), (*value).to_owned());
        }
        let headers = Some(manifest.add_headers(headers));
        manifest.routes = vec![
            ManifestRoute { headers, ..route(&["GET"], "/a", Auth::Public) },
            ManifestRoute::new(RouteKind::Probe, "/healthz", ["GET"], Auth::Public),
        ];
        abouts(rules, &manifest)
    };
    let own = ("x-own", "1");
    assert_eq!(
        of(&[("strict-transport-security", "max-age=200; includeSubDomains"), own]),
        [""; 0]
    );
    assert_eq!(
        of(&[("strict-transport-security", "max-age=99"), own]),
        [
            "its `strict-transport-security` is `max-age=99`, and at least as strict as `max-age=100` is required"
        ]
    );
    assert_eq!(
        of(&[("strict-transport-security", "max-age=100"), ("x-own", "2")]),
        ["its `x-own` is `2`, and at least as strict as `1` is required"]
    );
    assert_eq!(
        of(&[own]),
        ["it has no `strict-transport-security`, and `max-age=100` is required"]
    );
}

#[test]
fn required_caching_keeps_responses_from_other_caches() {
    let of = |required: &str, cache: crate::Cache| {
        let rules = format!("[require.cache]\nroutes = [\"**\"]\ncache = \"{required}\"");
        violations(
            &rules,
            vec![ManifestRoute { cache: Some(cache), ..route(&["GET"], "/a", session(&[])) }],
        )
        .is_empty()
    };
    let cache = |no_store, audience| crate::Cache { no_store, audience, ..Default::default() };
    use policy_core::cache::Audience;
    for (cache, no_store, private) in [
        (cache(true, Audience::Unstated), true, true),
        (cache(false, Audience::Private), false, true),
        (cache(false, Audience::Public), false, false),
    ] {
        assert_eq!((of("no-store", cache.clone()), of("private", cache)), (no_store, private));
    }
}

/// Without a policy, what serves a route may let shared caches keep a response to anybody.
#[test]
fn required_caching_needs_a_policy_or_a_caller() {
    let optional = RouteRequirement { optional: true, ..token() };
    for (auth, holds) in [
        (session(&[]), true),
        (Auth::Required(token()), true),
        (Auth::Required(optional), false),
        (Auth::Public, false),
    ] {
        for kind in [RouteKind::Handler, RouteKind::Proxy] {
            let rules = "[require.cache]\nroutes = [\"**\"]\ncache = \"private\"";
            let found =
                violations(rules, vec![ManifestRoute::new(kind, "/a", ["GET"], auth.clone())]);
            assert_eq!(found.is_empty(), holds, "{kind:?} {auth:?} {found:?}");
        }
    }
}

#[test]
fn required_objects_are_the_keys_of_all_parameters() {
    let rules = "[require.objects]\nroutes = [\"**\"]\nobjects = true";
    let of = |path: &str, none: Option<&str>, loads: bool| {
        let nothing = crate::RouteObjects::default();
        let mut objects = if loads { order("view", id()) } else { nothing };
        objects.none = none.map(str::to_owned);
        let mut route = route(&["GET"], path, session(&[]));
        route.object = Some(objects);
        abouts(rules, &app(vec![route]))
    };
    assert_eq!(of("/a/{id}", None, true), [""; 0]);
    assert_eq!(of("/a", None, false), [""; 0]);
    assert_eq!(of("/a/{id}", None, false), ["it takes `id` without an object"]);
    let exempt = of("/a/{id}/{line}", Some("all may"), true);
    assert_eq!(exempt, ["it takes `line` without an object, for the reason `all may`"]);
}

#[test]
fn what_lives_longer_than_a_rule_allows_is_a_violation() {
    let rules = "[lifetimes]\nsession = \"12 h\"\nsession-idle = \"30 min\"\ntoken = \"15 min\"\nrefresh-token = \"30 d\"";
    let of = |change: fn(&mut SessionFacts, &mut TokenFacts)| {
        let mut manifest = app(Vec::new());
        let sessions = manifest.app.sessions.as_mut().unwrap();
        (sessions.absolute_s, sessions.idle_s) = (Some(43_200), Some(1_800));
        let tokens = manifest.app.tokens.as_mut().unwrap();
        (tokens.lifetime_s, tokens.refresh_lifetime_s) = (Some(900), Some(2_592_000));
        change(sessions, tokens);
        abouts(rules, &manifest)
    };
    assert_eq!(of(|_, _| ()), [""; 0]);
    let found = of(|sessions, _| sessions.absolute_s = Some(43_201));
    assert_eq!(found, ["a session lives for 43201 s, and at most `12 h` is required"]);
    assert_eq!(of(|sessions, _| sessions.remembered_absolute_s = Some(50_000)).len(), 1);
    assert_eq!(of(|sessions, _| sessions.idle_s = None).len(), 1);
    assert_eq!(of(|sessions, _| sessions.remembered_idle_s = Some(1_801)).len(), 1);
    assert_eq!(of(|_, tokens| tokens.lifetime_s = Some(901)).len(), 1);
    assert_eq!(of(|_, tokens| tokens.refresh_lifetime_s = Some(2_592_001)).len(), 1);
    assert_eq!(of(|_, tokens| tokens.refresh_lifetime_s = None), [""; 0]);
    let excepted =
        "[[except]]\nrule = \"lifetimes\"\nroute = \"app\"\nwho = \"ada\"\nwhy = \"a kiosk\"";
    let mut manifest = app(Vec::new());
    manifest.app.tokens = None;
    let found =
        check_and_replay(&format!("[lifetimes]\nsession = \"12 h\"\n{excepted}"), &manifest);
    assert!(found.holds() && found.excepted.len() == 1, "{found:?}");
}

const EXCEPTED: &str = "
    [never.strangers]
    routes = [\"/admin/**\"]
    without-roles = [\"admin\"]

    [[except]]
    rule = \"never.strangers\"
    route = \"GET /admin/status\"
    who = \"ada\"
    why = \"the status page\"
";

#[test]
fn an_exception_leaves_one_route_until_its_end() {
    let status = |methods: &[&str]| app(vec![route(methods, "/admin/status", Auth::Public)]);
    let found = check_and_replay(EXCEPTED, &status(&["GET"]));
    assert!(found.holds());
    assert_eq!((found.violations.len(), found.excepted.len()), (0, 1));
    assert_eq!(found.excepted[0].1.line.who, "ada");
    // The exception does not cover another method.
    let found = check_and_replay(EXCEPTED, &status(&["GET", "PUT"]));
    assert_eq!(found.violations[0].routes, ["PUT /admin/status"]);
    assert_eq!(found.excepted[0].0.routes, ["GET /admin/status"]);
    for (until, message, holds) in [
        ("2027-01-14", Some("this exception has ended: `GET /admin/status`"), false),
        (
            "2027-01-20",
            Some(
                "this exception ends within two weeks, and the check fails then: `GET /admin/status`",
            ),
            true,
        ),
        ("2027-06-30", None, true),
    ] {
        let rules = format!("{EXCEPTED}\nuntil = \"{until}\"");
        let found = check_and_replay(&rules, &status(&["GET"]));
        let messages: Vec<_> = found.problems.iter().map(|it| it.message.as_str()).collect();
        assert_eq!((messages, found.holds()), (message.into_iter().collect(), holds), "{until}");
    }
}

#[test]
fn an_exception_names_a_route_with_a_rest() {
    let files = app(vec![route(&["GET"], "/admin/{*path}", Auth::Public)]);
    let found = check_and_replay(&EXCEPTED.replace("/admin/status", "/admin/{*path}"), &files);
    assert!(found.holds(), "{:?}", found.problems);
    assert_eq!(found.excepted[0].0.routes, ["GET /admin/{*path}"]);
}

#[test]
fn an_exception_from_nothing_fails() {
    let closed = app(vec![route(&["GET"], "/admin/status", session(&["admin"]))]);
    let found = check_and_replay(EXCEPTED, &closed);
    assert_eq!(found.problems[0].message, "it excepts nothing: `GET /admin/status`");
    assert_eq!(found.problems[0].place.to_string(), "policy.rules:6");
    assert!(!found.holds());
    let other = EXCEPTED.replace("rule = \"never.strangers\"", "rule = \"never.stranger\"");
    let found = check_and_replay(&other, &closed);
    assert!(found.problems[0].message.starts_with("it excepts from a rule that there is not"));
}

#[test]
fn rules_that_cannot_match_are_problems() {
    let manifest = app(vec![route(&["GET"], "/a", session(&["admin"]))]);
    for (rules, message) in [
        ("[public]\nroutes = [\"GET /b\"]", "`GET /b` selects no route of the checked policies"),
        (
            "[require.a]\nroutes = [\"GET **\", \"POST **\"]\nrate = \"1/s\"",
            "`POST **` selects no route of the checked policies",
        ),
        (
            "[never.a]\nroutes = [\"/a\"]\nkinds = [\"proxy\"]\ncallers = [\"token\"]",
            "`/a` selects no route of the checked policies",
        ),
        (
            "[never.a]\nroutes = [\"/a\"]\nroles = [\"admni\"]",
            "no route of the checked policies requires the role `admni`",
        ),
        (
            "[never.a]\nroutes = [\"/a\"]\nscopes = [\"read\"]",
            "no route of the checked policies requires the scope `read`",
        ),
    ] {
        let found = check_and_replay(rules, &manifest);
        assert!(found.problems.iter().any(|it| it.message == message), "{:?}", found.problems);
        assert!(!found.holds());
    }
}

/// Checks 500 routes, each of which requires a role of its own, by 1,000 rules.
fn many(rule: impl Fn(usize) -> String) -> Result<CheckReport, CheckError> {
    let routes = (0..500).map(|index| {
        let auth = session(&[format!("role{index}").as_str()]);
        route(&["GET", "POST"], &format!("/area{}/{{id}}/{index}", index % 50), auth)
    });
    let manifest = app(routes.collect());
    let rules: String = (0..1_000).map(rule).collect();
    let rules = Rules::parse("policy.rules", &rules).unwrap();
    check(&rules, &[CheckedPolicy { name: "shop", manifest: &manifest }], today())
}

#[test]
fn the_work_for_many_rules_is_bounded() {
    let of_area = |index: usize| {
        let area = index % 50;
        format!("[never.a{index}]\nroutes = [\"/area{area}/**\"]\ncallers = [\"anonymous\"]\n")
    };
    assert!(many(of_area).unwrap().holds());
    // A report of all these violations would be of no use.
    let of_all = |index| format!("[never.a{index}]\nroutes = [\"**\"]\nwithout-roles = [\"b\"]\n");
    assert!(matches!(many(of_all), Err(CheckError::TooMuch)));
    let of_long_globs =
        |index| format!("[never.a{index}]\nroutes = [\"/{}{index}**\"]\n", "*a".repeat(90));
    assert!(matches!(many(of_long_globs), Err(CheckError::TooMuch)));
}

#[test]
fn names_with_escapes_are_harmless() {
    let manifest = app(vec![route(&["GET"], "/a\u{1b}[31m\n::error::", Auth::Public)]);
    let rules = Rules::parse("policy.rules", "[never.a]\nroutes = [\"/**\"]").unwrap();
    let name = "shop\n\u{1b}[31m";
    let error = check(&rules, &[CheckedPolicy { name, manifest: &manifest }], today()).unwrap_err();
    assert!(!error.to_string().contains(['\u{1b}', '\n']), "{error}");
    let why = "why = \"\\u001b[31m\\n::error::\"";
    let rules = format!("[never.a]\nroutes = [\"/**\"]\nroles = [\"\\u001b\"]\n{why}");
    let odd = route(&["GET"], "/a", session(&["\u{1b}[31m\n"]));
    let found = check_and_replay(&rules, &app(vec![odd, route(&["GET"], "/b", Auth::Public)]));
    let texts = found.violations.iter().map(ToString::to_string);
    for text in texts.chain(found.problems.iter().map(ToString::to_string)) {
        assert!(!text.contains('\u{1b}') && !text.contains("\n::error"), "{text:?}");
    }
    assert_eq!((found.violations.len(), found.problems.len()), (1, 1));
}
