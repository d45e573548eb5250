use std::collections::BTreeSet;

use super::*;
use crate::{
    Auth, Csrf, Direction, FindingSeverity, Jsonp, ManifestRoute, RouteCors, RouteKind,
    RouteRequirement, SessionFacts,
    engine::Outcome,
    samples::{app, cors, partners, session, texts, token},
};

fn order(change: impl FnOnce(&mut ManifestRoute)) -> Manifest {
    let mut route = ManifestRoute::handler("/orders", ["POST"], Auth::Required(session()));
    change(&mut route);
    app(vec![route])
}

/// The findings in words, one line for each case.
fn described(old: &Manifest, new: &Manifest) -> Vec<String> {
    let found = diff(old, new).unwrap();
    let mirrored = diff(new, old).unwrap();
    assert_eq!(mirrored.findings.len(), found.findings.len());
    assert!(diff(new, new).unwrap().is_empty());
    let lines = found.findings.iter().flat_map(|finding| {
        let places: Vec<_> = finding.places.iter().map(PathMethods::words).collect();
        let places = places.join(" + ");
        let axis = finding.axis.name();
        finding.cases.iter().map(move |case| {
            let who = case.senders.words();
            let callers = case.callers.join("; ");
            format!(
                "{axis} {}: {places}: {who}: {callers}: {}",
                case.severity,
                case.gains.words().join(", ")
            )
        })
    });
    lines.collect()
}

#[test]
fn a_role_that_is_dropped_lets_every_session_in() {
    let staff = |roles: &[&str]| {
        order(|route| {
            let roles = texts(roles);
            route.auth = Auth::Required(RouteRequirement { roles, ..session() });
        })
    };
    let (old, new) = (staff(&["staff"]), staff(&[]));
    assert_eq!(
        described(&old, &new),
        [
            "widened medium: POST /orders: programs, pages of the app: a session and its CSRF token: reach the handler"
        ]
    );
    let found = diff(&old, &new).unwrap();
    let [finding] = found.findings.as_slice() else { panic!("{:?}", found.findings) };
    assert_eq!(finding.facets, ["auth"]);
    assert_eq!(finding.changes.len(), 1);
    assert!(found.changes.is_empty());
    let case = &finding.cases[0];
    assert_eq!(case.witness.before.refusal().unwrap().code(), "auth.rights-missing");
    assert_eq!(case.witness.after.outcome, Outcome::Reached);
}

#[test]
fn origins_that_are_granted_act_and_read_as_their_visitor() {
    let of = |origins: &[&str]| order(|route| route.cors = Some(cors(origins, true)));
    let (old, new) = (of(&["https://app.shop.example"]), of(&["https://*.shop.example"]));
    let gained = "pages of `https://*.shop.example except https://api.shop.example, \
                  https://app.shop.example`";
    assert_eq!(
        described(&old, &new),
        [
            format!(
                "widened high: POST /orders: {gained}: a session and its CSRF token: reach the \
                 handler, read the response to a request with cookies"
            ),
            format!(
                "widened medium: POST /orders: {gained}: : pass the preflight for a request with \
                 cookies, send the headers `content-type` `x-csrf-token`"
            ),
        ]
        .map(|line| line.replace("widened medium", "widened high"))
    );
}

#[test]
fn a_list_without_its_bound_opens_a_route_to_every_page() {
    let listed = |within: Option<&[&str]>| {
        let origins = partners(within);
        order(|route| route.cors = Some(RouteCors { origins, ..cors(&[], true) }))
    };
    let found = diff(&listed(Some(&["https://*.partner.example"])), &listed(None)).unwrap();
    assert!(!found.findings.is_empty());
    assert!(found.findings.iter().all(|finding| finding.axis == Axis::Widened));
}

#[test]
fn a_new_path_is_compared_with_the_route_that_served_it() {
    let item = ManifestRoute::handler("/a/{id}", ["GET"], Auth::Required(session()));
    let own = ManifestRoute::handler("/a/x", ["GET"], Auth::Public);
    let (old, new) = (app(vec![item.clone()]), app(vec![item, own]));
    assert_eq!(
        described(&old, &new),
        ["widened medium: GET,HEAD /a/x: everybody: no credentials: reach the handler"]
    );
}

#[test]
fn templates_that_cross_are_compared_where_they_meet() {
    let routes = |path: &str, auth| app(vec![ManifestRoute::handler(path, ["GET"], auth)]);
    let old = routes("/{tenant}/b", Auth::Required(session()));
    let new = routes("/a/{id}", Auth::Public);
    let found = diff(&old, &new).unwrap();
    let places: BTreeSet<String> = found
        .findings
        .iter()
        .flat_map(|finding| &finding.places)
        .map(|place| place.path.clone())
        .collect();
    let expected = ["/a/b", "/a/{id}", "/{tenant}/b"].map(str::to_owned);
    assert_eq!(places, BTreeSet::from(expected));
}

#[test]
fn a_removed_route_falls_back_to_the_surrounding_route() {
    let files = ManifestRoute::new(RouteKind::Mount, "/files", ["GET"], Auth::Public);
    let pay = ManifestRoute::handler("/files/pay", ["GET"], Auth::Required(session()));
    let lines = described(&app(vec![files.clone(), pay.clone()]), &app(vec![files]));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("widened medium: GET,HEAD /files/pay: everybody"), "{lines:?}");
    let lines = described(&app(vec![pay]), &app(Vec::new()));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("narrowed"), "{lines:?}");
}

#[test]
fn a_fallback_serves_every_method_of_every_other_path() {
    let not_found = ManifestRoute::new(RouteKind::NotFound, "*", [""; 0], Auth::Public);
    let fallback = ManifestRoute::new(RouteKind::Fallback, "*", [""; 0], Auth::Public);
    let old = app(vec![not_found]);
    let found = diff(&old, &app(vec![fallback])).unwrap();
    let place = |place: &PathMethods| (place.path.clone(), place.every_other_method);
    let places: Vec<_> =
        found.findings.iter().flat_map(|finding| &finding.places).map(place).collect();
    assert!(places.contains(&("*".to_owned(), true)), "{places:?}");
    assert!(found.findings.iter().all(|finding| finding.axis == Axis::Widened));
}

#[test]
fn csrf_protection_that_is_gone_is_for_pages_of_any_site() {
    let of = |csrf| order(|route| route.csrf = csrf);
    let lines = described(&of(Csrf::Token), &of(Csrf::Exempt("a test".to_owned())));
    assert!(lines.iter().all(|line| line.starts_with("widened")), "{lines:?}");
    let is_any =
        |line: &&String| line.starts_with("widened high") && line.contains("pages of any origin");
    assert!(lines.iter().any(|line| is_any(&line)), "{lines:?}");
}

#[test]
fn readable_headers_are_listed_one_by_one() {
    let of = |expose: &[&str], headers: &[&str]| {
        let mut shared = cors(&["https://app.shop.example"], true);
        (shared.expose, shared.headers) = (texts(expose), texts(headers));
        order(|route| route.cors = Some(shared))
    };
    let lines = described(&of(&["x-a", "x-b"], &[]), &of(&["x-b", "x-c"], &["x-range"]));
    let has = |words: &str| lines.iter().any(|line| line.contains(words));
    assert!(has("read the headers `x-c`") && has("read the headers `x-a`"), "{lines:?}");
    assert!(has("send the headers `x-range`"), "{lines:?}");
    assert!(!has("x-b"), "{lines:?}");
}

#[test]
fn limits_are_no_access() {
    let old = order(|_| ());
    let new = order(|route| route.limits.body = Some(5));
    let found = diff(&old, &new).unwrap();
    assert!(found.findings.is_empty() && !found.is_empty());
    assert_eq!(found.changes[0].facet, "limits");
}

#[test]
fn more_misses_open() {
    let by = policy_core::limits::RateKey::Principal;
    let [none, few, many] = [None, Some(20), Some(30)].map(|count| {
        let misses = count.map(|count| crate::RouteRate { count, per_ms: 60_000, by });
        order(|route| route.limits.misses = misses)
    });
    for (old, new, direction, words) in [
        (&none, &few, Direction::Narrows, "misses was none, is 20 in 60000 ms by principal"),
        (&few, &many, Direction::Opens, "misses was 20 in 60000 ms by principal, is 30"),
        (&many, &none, Direction::Opens, "misses was 30 in 60000 ms by principal, is none"),
    ] {
        let found = diff(old, new).unwrap();
        let [change] = &found.changes[..] else { panic!("{:?}", found.changes) };
        assert_eq!(change.direction, direction, "{words}");
        assert!(change.words.contains(words), "{}", change.words);
    }
}

#[test]
fn a_moved_app_gets_requests_under_its_own_names() {
    let old = order(|_| ());
    let mut new = order(|route| route.auth = Auth::Public);
    new.app.public_origin = Some("https://api.store.example".to_owned());
    new.app.sessions = Some(SessionFacts::new("memory", "__Host-id", "lax"));
    let found = diff(&old, &new).unwrap();
    let moved = found.findings[0].cases[0].witness.moved.as_ref().unwrap();
    assert_eq!(moved.headers()["host"], "api.store.example");
    let facets: BTreeSet<_> = found.changes.iter().map(|change| change.facet).collect();
    assert!(facets.contains("public_origin") && facets.contains("sessions"), "{facets:?}");
    let mut same = order(|_| ());
    same.app.public_origin.clone_from(&new.app.public_origin);
    assert!(diff(&old, &same).unwrap().findings.is_empty());
}

#[test]
fn an_app_without_sessions_treats_no_cookie_as_a_session() {
    let mut old = order(|_| ());
    old.app.sessions = None;
    let mut new = order(|_| ());
    new.app.sessions = Some(SessionFacts::new("memory", "__Host-id", "lax"));
    let lines = described(&old, &new);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("a session and its CSRF token: reach the handler"), "{lines:?}");
}

#[test]
fn requests_that_no_page_sends_join_a_case_with_the_same_gain() {
    let of = |auth| app(vec![ManifestRoute::handler("/a", ["GET"], auth)]);
    let found = diff(&of(Auth::Required(session())), &of(Auth::Public)).unwrap();
    let cookie = ("cookie", "__Host-sid=session");
    let socket = [cookie, ("upgrade", "websocket"), ("connection", "upgrade")];
    let replay = [cookie, ("early-data", "1")];
    let session = crate::engine::CredentialState::valid();
    let caller = RequestCredentials { session, ..RequestCredentials::default() };
    for fields in [&socket[..], &replay] {
        let request = Request::get("/a").header("host", "api.shop.example");
        let request =
            fields.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.body(()).unwrap();
        let (gained, lost) = found.gains(&request, &caller);
        assert!(gained.reaches && lost.is_empty(), "{fields:?}");
        let cases = found.at(&request, &caller);
        assert_eq!(cases.len(), 1, "{fields:?}");
        assert_eq!(cases[0].1.gains, gained);
    }
}

#[test]
fn scripts_and_isolation_are_compared() {
    let of = |change: &dyn Fn(&mut ManifestRoute)| {
        let mut route = ManifestRoute::handler("/prices", ["GET"], Auth::Public);
        route.isolation = Some(policy_core::isolation::Isolation::SameOrigin);
        change(&mut route);
        app(vec![route])
    };
    let jsonp = Jsonp { callback: "cb".to_owned(), dotted: false };
    let open = described(&of(&|_| ()), &of(&|route| route.isolation = None));
    assert!(open.iter().any(|line| line.contains("images, frames")), "{open:?}");
    let script = described(&of(&|_| ()), &of(&|route| route.jsonp = Some(jsonp.clone())));
    let has = |axis: &str, words: &str| {
        script.iter().any(|line| line.starts_with(axis) && line.contains(words))
    };
    // A function of an object is refused now, and any page may load a script.
    assert!(has("narrowed", "`cb=a.show`") && has("widened", "images, frames"), "{script:?}");
}

/// Requests without a callback are refused now, which explains nothing about those with one.
#[test]
fn a_callback_opens_a_route_that_every_page_may_embed() {
    let mut route = ManifestRoute::handler("/prices", ["GET"], Auth::Public);
    let old = app(vec![route.clone()]);
    route.jsonp = Some(Jsonp { callback: "cb".to_owned(), dotted: false });
    let new = app(vec![route]);
    let opening = |old, new| {
        let changes = diff(old, new).unwrap().changes;
        changes.iter().filter(|change| change.direction.opens()).map(|it| it.facet).collect()
    };
    let found: Vec<_> = opening(&old, &new);
    assert_eq!(found, ["jsonp"]);
    let reversed: Vec<_> = opening(&new, &old);
    assert!(reversed.is_empty(), "{reversed:?}");
}

#[test]
fn encoded_slashes_are_compared() {
    let of = |path: &str| app(vec![ManifestRoute::handler(path, ["GET"], Auth::Public)]);
    let lines = described(&of("/p/{name}"), &of("/p/{name:slashes}"));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("GET,HEAD /p/{name} with an encoded slash: everybody"), "{lines:?}");
}

/// A path is removed that an encoded slash would have named as well.
#[test]
fn a_fact_that_decides_nothing_is_no_cause() {
    let of = |paths: &[&str], idle_s| {
        let route = |path: &&str| ManifestRoute::handler(*path, ["GET"], Auth::Public);
        let mut manifest = app(paths.iter().map(route).collect());
        manifest.app.sessions.as_mut().unwrap().idle_s = idle_s;
        manifest
    };
    let rest = "/g/{*rest:slashes}";
    for (hiding, shown) in
        [("/g/x", "/g/x"), ("/g/x/y", "/g/x/y"), ("/g/x/{a:slashes}", "/g/x/{a}")]
    {
        let found = diff(&of(&[rest, hiding], Some(900)), &of(&[rest], None)).unwrap();
        let [finding] = found.findings.as_slice() else { panic!("{:?}", found.findings) };
        assert_eq!(finding.axis, Axis::Widened);
        let places: Vec<_> = finding.places.iter().map(PathMethods::words).collect();
        assert_eq!(places, [format!("GET,HEAD {shown} with an encoded slash")]);
        let causes: Vec<_> = finding.changes.iter().map(ToString::to_string).collect();
        assert_eq!(causes, [format!("opens: GET {hiding}: route: encoded slashes")]);
        assert_eq!(found.changes.len(), 1, "{:?}", found.changes);
    }
}

#[test]
fn tunnels_are_compared() {
    let tunnel = |auth| {
        let mut route = ManifestRoute::new(RouteKind::Tunnel, "", ["CONNECT"], auth);
        route.targets = vec!["db.example:5432".to_owned()];
        app(vec![route])
    };
    let lines = described(&tunnel(Auth::Required(token())), &tunnel(Auth::Public));
    assert!(lines[0].contains("CONNECT tunnels: "), "{lines:?}");
    assert!(lines[0].contains("no credentials"), "{lines:?}");
    let found = diff(&tunnel(Auth::Public), &app(Vec::new())).unwrap();
    let request = Request::connect("db.example:5432")
        .header("host", "db.example:5432")
        .header("authorization", "Bearer")
        .body(())
        .unwrap();
    let cases = found.at(&request, &RequestCredentials::default());
    assert_eq!(cases.len(), 1, "a tunnel reads no credential that browsers add");
}

#[test]
fn no_severity_exceeds_a_stranger_with_the_session_of_a_user() {
    let requirement = RouteRequirement { optional: true, ..session() };
    let old = order(|_| ());
    let new = order(|route| route.auth = Auth::Required(requirement));
    let found = diff(&old, &new).unwrap();
    assert_eq!(found.findings[0].severity, FindingSeverity::High);
    let is_anonymous = |case: &Case| case.callers.iter().any(|words| words == "no credentials");
    assert!(found.findings[0].cases.iter().any(is_anonymous));
}

/// Orchestrators call probes by an address.
#[test]
fn a_route_that_replaces_a_probe_responds_only_under_the_name_of_the_app() {
    let health = |kind| app(vec![ManifestRoute::new(kind, "/health", ["GET"], Auth::Public)]);
    let (probe, route) = (health(RouteKind::Probe), health(RouteKind::Handler));
    let narrowed =
        "GET,HEAD /health: everybody, under another host name: no credentials: reach the handler";
    assert_eq!(described(&probe, &route), [format!("narrowed medium: {narrowed}")]);
    assert_eq!(described(&route, &probe), [format!("widened medium: {narrowed}")]);
    let found = diff(&probe, &route).unwrap();
    let witness = &found.findings[0].cases[0].witness;
    assert_eq!(witness.request.headers()[header::HOST], "other.invalid");
    assert!(matches!(witness.after.outcome, Outcome::Refused(refusal) if refusal.status() == 421));
    let count = |host: &str| {
        let request = Request::get("/health").header("host", host).body(()).unwrap();
        found.at(&request, &RequestCredentials::default()).len()
    };
    assert_eq!((count("10.0.0.7:8080"), count("api.shop.example")), (1, 0));
    // A new probe implies this.
    assert_eq!(
        described(&app(vec![]), &probe),
        ["widened medium: GET,HEAD /health: everybody: no credentials: reach the handler"]
    );
}

/// For any other property of the request: a cookie, a page.
#[test]
fn a_proxy_in_place_of_a_fallback_answers_the_last_hop_itself() {
    let public = |kind, path, methods: &[&str]| {
        ManifestRoute::new(kind, path, methods.iter().copied(), Auth::Public)
    };
    let fallback = || public(RouteKind::Fallback, "*", &[]);
    let proxy = public(RouteKind::Proxy, "/up", &["GET", "OPTIONS"]);
    let found = diff(&app(vec![fallback()]), &app(vec![fallback(), proxy])).unwrap();
    for fields in [&[][..], &[("cookie", "theme=dark")], &[("sec-fetch-site", "cross-site")]] {
        let request = |hops: &str| {
            let request = Request::options("/up/x").header("host", "api.shop.example");
            let request = request.header("max-forwards", hops);
            let with = |request: http::request::Builder, (name, value): &(&str, &str)| {
                request.header(*name, *value)
            };
            fields.iter().fold(request, with).body(()).unwrap()
        };
        let (last, further) = (request("0"), request("1"));
        let anybody = RequestCredentials::default();
        assert_eq!(found.at(&further, &anybody).len(), 0, "{fields:?}");
        let at = found.at(&last, &anybody);
        let [(finding, case)] = at.as_slice() else { panic!("{fields:?}: {at:?}") };
        assert_eq!(finding.axis, Axis::Narrowed);
        assert_eq!(found.gains(&last, &anybody), (Gains::default(), case.gains.clone()));
    }
}

/// Browsers add a cookie or HTTP authentication, which a grant without credentials does not admit to
/// anything but a handler.
#[test]
fn a_credential_that_browsers_add_closes_what_a_grant_opens() {
    for kind in [RouteKind::Mount, RouteKind::Probe] {
        let granted = |cors| {
            let mut route = ManifestRoute::new(kind, "/health", ["GET"], Auth::Public);
            route.cors = cors;
            app(vec![route])
        };
        let found = diff(&granted(None), &granted(Some(cors(&["*"], false)))).unwrap();
        for (name, value, opens) in [
            ("cookie", "a=b", false),
            ("authorization", "Basic YTpi", false),
            ("accept", "*/*", true),
        ] {
            let request = Request::get("/health")
                .header("host", "api.shop.example")
                .header("origin", "https://page.example")
                .header("connection", "upgrade")
                .header("upgrade", "websocket")
                .header(name, value)
                .body(())
                .unwrap();
            let anybody = RequestCredentials::default();
            let cases = found.at(&request, &anybody);
            let gains: Vec<_> = cases.iter().map(|(_, case)| case.gains.clone()).collect();
            let (gained, _) = found.gains(&request, &anybody);
            assert_eq!(gained.reaches, opens, "{kind:?} {name}");
            assert_eq!(gains, Vec::from_iter(opens.then_some(gained)), "{kind:?} {name}");
        }
    }
}

#[test]
fn a_witness_with_another_decision_is_an_error() {
    let old = order(|_| ());
    let new = order(|route| route.auth = Auth::Public);
    let sides = (Side::new(&old).unwrap(), Side::new(&new).unwrap());
    let mut groups = Comparison::new((&sides.0, &sides.1)).run().unwrap();
    assert_eq!(groups[0].axis, Axis::Widened);
    let sketches = &mut groups[0].units[0].sketches;
    sketches.iter_mut().for_each(|sketch| std::rc::Rc::make_mut(sketch).axis = Axis::Narrowed);
    let error = groups[0].finding((&sides.0, &sides.1), &mut Causes::new(&[], true)).unwrap_err();
    assert!(matches!(error, DiffError::Mismatch { .. }), "{error}");
    assert!(error.to_string().contains("POST /orders"), "{error}");
}

/// A hostile manifest: each path of one app overlaps each path of the other.
#[test]
fn paths_that_all_cross_are_too_many() {
    let of = |path: &dyn Fn(usize) -> String| {
        app((0..300)
            .map(|number| ManifestRoute::handler(path(number), ["GET"], Auth::Public))
            .collect())
    };
    let found = diff(
        &of(&|number| format!("/{{a}}/x{number}")),
        &of(&|number| format!("/y{number}/{{b}}")),
    );
    assert!(matches!(found, Err(DiffError::Crossings { most: 75_136 })), "{found:?}");
}

#[test]
fn invalid_manifests_are_an_error() {
    let good = order(|_| ());
    let mut bad = order(|_| ());
    bad.app.public_origin = Some("http://api.example".to_owned());
    assert!(matches!(diff(&bad, &good), Err(DiffError::Old(_))));
    assert!(matches!(diff(&good, &bad), Err(DiffError::New(_))));
}

fn audit(auth: RouteRequirement) -> ManifestRoute {
    ManifestRoute::handler("/audit", ["GET"], Auth::Required(auth))
}

fn with_roles(requirement: RouteRequirement) -> RouteRequirement {
    RouteRequirement { roles: vec!["auditor".to_owned()], ..requirement }
}

#[test]
fn every_user_is_everybody_where_strangers_may_log_in() {
    let mut login = ManifestRoute::handler("/login", ["POST"], Auth::Public);
    let mut optional = ManifestRoute::handler("/", ["GET"], Auth::Public);
    optional.auth = Auth::Required(RouteRequirement { optional: true, ..session() });
    let files = ManifestRoute::new(RouteKind::Mount, "/files", ["GET"], Auth::Public);
    let closed = login.clone();
    login.takes_session = true;
    let severity = |route: &ManifestRoute, requirement: RouteRequirement| {
        let [old, new] = [with_roles(requirement.clone()), requirement]
            .map(|requirement| app(vec![audit(requirement), route.clone()]));
        let of = |old, new| diff(old, new).unwrap().findings[0].severity;
        assert_eq!(of(&old, &new), of(&new, &old));
        of(&old, &new)
    };
    for open in [&login, &optional, &files] {
        assert_eq!(severity(open, session()), FindingSeverity::Medium, "{}", open.path);
    }
    // Sessions begin for known callers only.
    assert_eq!(severity(&closed, session()), FindingSeverity::Low);
    // No manifest states which callers may have a token.
    assert_eq!(severity(&closed, token()), FindingSeverity::Medium);
    let either = RouteRequirement { session: true, ..token() };
    assert_eq!(severity(&closed, either), FindingSeverity::Medium);
}

#[test]
fn a_right_that_some_users_have_is_not_for_everybody() {
    let roles = |roles: &[&str]| {
        let roles = texts(roles);
        let mut login = ManifestRoute::handler("/login", ["POST"], Auth::Public);
        login.takes_session = true;
        app(vec![audit(RouteRequirement { roles, ..session() }), login])
    };
    let found = diff(&roles(&["auditor"]), &roles(&["auditor", "lead"])).unwrap();
    assert_eq!(found.findings[0].severity, FindingSeverity::Low);
}

#[test]
fn what_cannot_add_a_header_sends_no_token() {
    let orders = |isolation, auth| {
        let mut route = ManifestRoute::handler("/orders", ["GET", "POST"], Auth::Required(auth));
        route.isolation = isolation;
        app(vec![route])
    };
    let same_origin = Some(policy_core::isolation::Isolation::SameOrigin);
    let both = || RouteRequirement { session: true, ..token() };
    for (old, new) in [
        (orders(same_origin, token()), orders(None, token())),
        (orders(None, with_roles(token())), orders(None, token())),
        (orders(None, session()), orders(None, both())),
    ] {
        let lines = described(&old, &new);
        assert!(!lines.is_empty());
        for line in lines.iter().filter(|line| !line.contains("session")) {
            assert!(!line.contains("images") && !line.contains("links"), "{line}");
        }
    }
}

#[test]
fn a_broken_credential_that_is_no_longer_refused_is_for_information() {
    let optional = Auth::Required(RouteRequirement { optional: true, ..session() });
    let orders = |auth| app(vec![ManifestRoute::handler("/orders", ["GET"], auth)]);
    let [old, new] = [orders(optional), orders(Auth::Public)];
    let lines = described(&old, &new);
    assert!(!lines.is_empty());
    let changes = crate::changes(&old, &new).unwrap();
    let words: Vec<_> = changes.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["changes: GET /orders: auth: was `session, optional`, is `public`"]);
    for line in &lines {
        assert!(line.starts_with("widened info: "), "{line}");
        assert!(!line.contains("too many cookies"), "{line}");
    }
}
