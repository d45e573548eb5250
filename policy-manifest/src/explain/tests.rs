//! What an explanation says of requests to a shop.

use super::*;
use crate::{
    Auth, Change, Csrf, EngineFacts, IssuerFacts, ManifestRoute, RouteKind, RouteRequirement,
    SessionFacts, TokenFacts,
    engine::{CredentialState, Login},
    samples::{cors, id, object_rules, order, partners, session, texts, token, tokens},
};
use policy_core::route::Level;

const APP: &str = "https://app.shop.example";

/// A shop whose page is on another origin of the same site.
fn shop() -> Manifest {
    let mut manifest = Manifest::new();
    manifest.app.public_origin = Some("https://api.shop.example".to_owned());
    manifest.app.sessions = Some(SessionFacts::new("memory", "__Host-sid", "lax"));
    let staff = RouteRequirement { roles: texts(&["staff"]), fresh: Some(600), ..session() };
    for (path, method) in [("/orders/{id}", "PUT"), ("/orders", "GET"), ("/orders", "POST")] {
        let auth = Auth::Required(staff.clone());
        let route = ManifestRoute {
            cors: Some(cors(&[APP], true)),
            ..ManifestRoute::handler(path, [method], auth)
        };
        manifest.routes.push(route);
    }
    manifest.normal()
}

fn request(method: &str, path: &str, fields: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::builder().method(method).uri(path);
    request = request.header("host", "api.shop.example");
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap()
}

fn explained(request: &Request<()>, caller: &RequestCredentials) -> Explanation {
    explained_in(&shop(), request, caller)
}

fn explained_in(
    manifest: &Manifest,
    request: &Request<()>,
    caller: &RequestCredentials,
) -> Explanation {
    explain(manifest, &Sources::default(), request, caller).unwrap()
}

fn user(roles: &[&str], age: u32) -> RequestCredentials {
    let roles = texts(roles);
    let login = Login { roles, age: Some(age), ..Login::default() };
    RequestCredentials { session: CredentialState::Valid(login), ..RequestCredentials::default() }
}

const COOKIE: (&str, &str) = ("cookie", "__Host-sid=1");

#[test]
fn a_page_of_a_stranger_is_explained_by_its_preflight() {
    let sent = request("PUT", "/orders/1", &[("origin", "https://evil.example"), COOKIE]);
    let found = explained(&sent, &user(&["staff"], 0));
    assert_eq!(found.unsent, Some(Unsent::PreflightRefused(Refusal::PreflightOrigin)));
    assert_eq!(found.decision.refusal(), Some(Refusal::CsrfOrigin), "what the server says");
    assert!(found.page.unwrap().contains("does not send the request"));
    let nearest = found.nearest.unwrap();
    assert_eq!(nearest.steps[0], format!("send it from a page of `{APP}`"));
    let edit = found.edit.unwrap();
    assert!(edit.steps[0].contains("add \"https://evil.example\" to origins"), "{:?}", edit.steps);
    let opened: Vec<_> = edit.changes.iter().map(Change::route).collect();
    assert_eq!(opened, vec!["PUT /orders/{id}"; opened.len()]);
}

/// CORS does not stop programs.
#[test]
fn a_refused_preflight_stops_no_program() {
    let mut manifest = shop();
    manifest.app.tokens = Some(tokens());
    manifest.routes.iter_mut().for_each(|route| route.auth = Auth::Required(token()));
    let fields = [("origin", "https://evil.example"), ("authorization", "Bearer t")];
    let sent = request("PUT", "/orders/1", &fields);
    let caller = RequestCredentials {
        token: CredentialState::Valid(Login::default()),
        ..RequestCredentials::default()
    };
    let found = explained_in(&manifest, &sent, &caller);
    assert_eq!(found.decision.outcome, Outcome::Reached);
    assert_eq!(found.unsent, Some(Unsent::PreflightRefused(Refusal::PreflightOrigin)));
    assert!(found.gates.iter().all(|gate| gate.verdict.is_some()), "{:?}", found.gates);
    assert_eq!(found.nearest.unwrap().steps, [format!("send it from a page of `{APP}`")]);
}

#[test]
fn a_decision_by_a_list_without_known_entries_says_so() {
    let mut manifest = shop();
    for cors in manifest.routes.iter_mut().filter_map(|route| route.cors.as_mut()) {
        cors.origins = partners(Some(&["https://*.partner.example"]));
    }
    for (origin, is_assumed) in [("https://a.partner.example", true), ("https://a.example", false)]
    {
        let sent = request("GET", "/orders", &[("origin", origin), COOKIE]);
        let caller = user(&["staff"], 0);
        let found = explained_in(&manifest, &sent, &caller);
        assert_eq!(found.decision.if_listed.as_deref(), is_assumed.then_some("partners"));
        let entries = ["https://a.partner.example".to_owned()];
        let known = Engine::with_lists(&manifest, |_| Some(&entries)).unwrap();
        assert_eq!(known.decide(&sent, &caller).if_listed, None);
    }
}

#[test]
fn missing_credentials_are_named_in_order() {
    let found =
        explained(&request("POST", "/orders", &[("origin", APP)]), &RequestCredentials::default());
    let steps = found.nearest.unwrap().steps;
    assert!(found.edit.is_none(), "{:?}", found.edit);
    assert_eq!(
        steps,
        [
            "log in, and send the session cookie with role `staff`",
            "send the CSRF token of the session in `X-CSRF-Token`",
        ]
    );
    let gates: Vec<_> =
        found.gates.iter().filter(|gate| gate.verdict.is_some()).map(|gate| gate.gate).collect();
    assert!(gates.contains(&Gate::Authorize) && !gates.contains(&Gate::Limits), "{gates:?}");
}

/// No edit is offered: each would open the route to everybody, or to pages without the token.
#[test]
fn no_edit_takes_the_place_of_a_credential() {
    let nobody = RequestCredentials::default();
    for (fields, caller) in [
        (vec![], nobody.clone()),
        (vec![("origin", "https://evil.example")], nobody),
        (vec![("origin", APP), COOKIE], user(&["staff"], 0)),
    ] {
        let found = explained(&request("POST", "/orders", &fields), &caller);
        assert!(found.nearest.is_some() && found.edit.is_none(), "{fields:?}: {:?}", found.edit);
    }
    // For a credential that lacks rights, an edit of the policy is offered.
    let found = explained(&request("POST", "/orders", &[("origin", APP), COOKIE]), &user(&[], 0));
    let steps = found.edit.unwrap().steps;
    assert_eq!(steps, ["csrf: `origin`, which asks for no token", "auth: without roles"]);
}

#[test]
fn no_edit_takes_the_place_of_a_ticket() {
    let mut manifest = shop();
    manifest.app.tokens = Some(tokens());
    let ticket = RouteRequirement { ticket: true, ..RouteRequirement::default() };
    manifest.routes.push(ManifestRoute::handler("/live", ["GET"], Auth::Required(ticket)));
    let explained = |method: &str, path: &str| {
        let sent = request(method, path, &[]);
        explained_in(&manifest, &sent, &RequestCredentials::default())
    };
    for (path, target) in [
        ("/live", "/live?ticket=ticket"),
        ("/live?a=1&ticket=old", "/live?a=1&ticket=ticket"),
        ("/live?ticket=a&ticket=b", "/live?ticket=ticket"),
    ] {
        let found = explained("GET", path);
        assert!(found.edit.is_none(), "{:?}", found.edit);
        let nearest = found.nearest.unwrap();
        assert_eq!(nearest.steps, ["send a valid ticket in `?ticket=`"]);
        assert_eq!(nearest.request.uri().to_string(), target);
    }
    // A ticket does not count for HEAD, so nothing helps.
    let found = explained("HEAD", "/live");
    assert!(found.nearest.is_none() && found.edit.is_none(), "{:?}", found.edit);
}

#[test]
fn edits_of_rights_and_age_are_minimal() {
    let sent = request("GET", "/orders", &[COOKIE]);
    let found = explained(&sent, &user(&["guest"], 700));
    let edit = found.edit.as_ref().unwrap();
    assert_eq!(edit.steps, ["auth: with the role \"guest\"", "auth: `fresh = \"701s\"`"]);
    let opened = edit.changes.iter().filter(|change| change.direction.opens());
    let opened: Vec<_> = opened.map(ToString::to_string).collect();
    assert_eq!(opened.len(), 1, "{opened:?}");
    assert!(opened[0].starts_with("opens: GET /orders: auth: was"), "{opened:?}");
    let nearest = found.nearest.unwrap();
    assert_eq!(nearest.steps, ["have the role `staff`", "log in again"]);
}

#[test]
fn a_request_that_is_let_through_needs_no_change() {
    let found = explained(&request("GET", "/orders", &[COOKIE]), &user(&["staff"], 0));
    assert!(found.nearest.is_none() && found.edit.is_none());
    assert_eq!(found.decision.outcome, Outcome::Reached);
}

#[test]
fn csrf_exempt_routes_stay_so_in_an_edit() {
    let mut manifest = shop();
    manifest.routes[0].csrf = Csrf::Exempt("a webhook".to_owned());
    let sent = request("GET", "/orders", &[COOKIE]);
    let caller = user(&[], 0);
    let found = explained_in(&manifest, &sent, &caller);
    let edit = found.edit.unwrap();
    assert_eq!(edit.steps, ["auth: without roles"]);
    assert!(edit.changes.iter().all(|change| change.facet == "auth"), "{:?}", edit.changes);
}

#[test]
fn a_preflight_that_no_policy_answers_is_about_its_route() {
    let mut manifest = shop();
    manifest.routes.push(ManifestRoute::handler("/closed", ["PUT"], Auth::Public));
    let sent = request("PUT", "/closed", &[("origin", APP)]);
    let found = explained_in(&manifest, &sent, &RequestCredentials::default());
    assert_eq!(found.unsent, Some(Unsent::PreflightRefused(Refusal::PreflightOrigin)));
    assert_eq!(found.decision.outcome, Outcome::Reached, "for a program");
    assert_eq!(found.route, Some(("/closed".to_owned(), vec!["PUT".to_owned()])));
}

#[test]
fn a_request_that_is_refused_before_it_is_routed_is_about_its_route() {
    let sent = request("PUT", "/orders/1", &[("host", "again.example")]);
    let found = explained(&sent, &RequestCredentials::default());
    assert_eq!(found.decision.refusal(), Some(Refusal::HostRepeated));
    assert_eq!(found.route.unwrap().0, "/orders/{id}");
}

#[test]
fn no_page_sends_a_forbidden_method() {
    for origin in [APP, "https://evil.example"] {
        let sent = request("TRACE", "/orders", &[("origin", origin)]);
        let found = explained(&sent, &RequestCredentials::default());
        assert_eq!(found.unsent, None, "{origin}");
        assert_eq!(found.page, Some("`TypeError`: no browser sends this method for a page"));
    }
}

#[test]
fn a_page_whose_preflight_lacks_an_entry_sees_an_error() {
    let page = |method: &str, fields: &[(&str, &str)]| {
        let fields: Vec<_> = [("origin", APP)].iter().chain(fields).copied().collect();
        let found = explained(&request(method, "/orders", &fields), &user(&["staff"], 0));
        found.page.unwrap()
    };
    assert!(page("BREW", &[COOKIE]).ends_with("does not list its method"));
    // The page can read that no route serves the method.
    assert_eq!(page("DELETE", &[COOKIE]), "the page can read the response");
    assert!(page("GET", &[COOKIE, ("x-tenant", "1")]).ends_with("one of its headers"));
    // What browsers write into recorded requests needs no preflight.
    let own = ["accept-encoding", "cache-control", "dnt", "pragma", "priority", "sec-ch-ua"];
    let own = own.into_iter().chain(["alt-used", "proxy-connection", "save-data"]);
    let own: Vec<_> = own.map(|name| (name, "1")).chain([COOKIE]).collect();
    assert_eq!(page("GET", &own), "the page can read the response");
    assert_eq!(page("GET", &[COOKIE]), "the page can read the response");
    for (range, is_simple) in [
        ("bytes=0-", true),
        ("bytes=5-5", true),
        ("bytes=5-4", false),
        ("bytes=-5", false),
        ("bytes=0-1, 3-4", false),
        ("bytes=+1-", false),
        ("bytes=1", false),
        ("bytes=1-2-3", false),
        ("bytes=07-8", true),
        ("bytes=0-99999999999999999999999", true),
        ("bytes=99999999999999999999999-0", false),
        // A server reads these as `bytes=0-999`.
        ("bytes= 0-999", false),
        ("Bytes=0-999", false),
        ("lines=0-", false),
    ] {
        let seen = page("GET", &[COOKIE, ("range", range)]);
        assert_eq!(seen == "the page can read the response", is_simple, "{range} {seen}");
    }
    let mut manifest = shop();
    for route in &mut manifest.routes {
        route.auth = Auth::Public;
        route.cors.iter_mut().for_each(|cors| cors.credentials = false);
    }
    let sent = request("PUT", "/orders/1", &[("origin", APP), COOKIE]);
    let found = explained_in(&manifest, &sent, &RequestCredentials::default());
    assert_eq!(found.unsent, Some(Unsent::CookiesNotAllowed));
    for (fields, is_readable) in
        [(&[("origin", APP)][..], true), (&[("origin", APP), COOKIE], false)]
    {
        let sent = request("GET", "/orders", fields);
        let found = explained_in(&manifest, &sent, &RequestCredentials::default());
        let can_read = found.page == Some("the page can read the response");
        assert_eq!(can_read, is_readable, "{:?}", found.page);
    }
}

#[test]
fn a_page_that_sends_cookies_is_granted_credentials_too() {
    let mut manifest = shop();
    manifest.routes.iter_mut().for_each(|route| route.cors = None);
    let sent = request("PUT", "/orders/1", &[("origin", APP), COOKIE]);
    let caller = user(&["staff"], 0);
    let found = explained_in(&manifest, &sent, &caller);
    let steps = found.edit.unwrap().steps;
    assert!(steps[0].ends_with("and `credentials`"), "{steps:?}");
}

#[test]
fn no_line_is_named_for_refusals_that_only_the_request_causes() {
    let mut sources = Sources::default();
    let line = FacetSource { level: Level::Route, file: "shop.rs".to_owned(), line: 7 };
    let facets = ["isolation", "auth"].map(|facet| (facet.to_owned(), line.clone()));
    sources.decided.insert("GET /orders".to_owned(), facets.into_iter().collect());
    let source_at = |gate: Gate, fields: &[(&str, &str)]| {
        let sent = request("GET", "/orders", fields);
        let found = explain(&shop(), &sources, &sent, &RequestCredentials::default()).unwrap();
        let of_gate = found.gates.into_iter().find(|found| found.gate == gate);
        of_gate.and_then(|found| found.source)
    };
    assert_eq!(source_at(Gate::FetchMetadata, &[("early-data", "1")]), None);
    assert_eq!(source_at(Gate::FetchMetadata, &[]), Some(line.clone()));
    assert_eq!(source_at(Gate::Authorize, &[]), Some(line));
}

#[test]
fn a_list_without_a_bound_may_have_every_origin_except_null() {
    let mut manifest = shop();
    for route in &mut manifest.routes {
        let Some(cors) = &mut route.cors else { continue };
        // With credentials, a list needs a bound.
        cors.credentials = false;
        cors.origins = partners(None);
    }
    let explained = |origin: &str| {
        let sent = request("GET", "/orders", &[("origin", origin), COOKIE]);
        explained_in(&manifest, &sent, &user(&["staff"], 0))
    };
    assert_eq!(explained("https://new.example").decision.if_listed.as_deref(), Some("partners"));
    assert_eq!(explained("null").decision.if_listed, None);
    let sent = request("PUT", "/orders/1", &[("origin", "null"), COOKIE]);
    let found = explained_in(&manifest, &sent, &user(&["staff"], 0));
    assert_eq!(found.unsent, Some(Unsent::PreflightRefused(Refusal::PreflightOrigin)));
    assert!(found.edit.is_none());
}

#[test]
fn an_edit_for_head_leaves_a_policy_of_get_alone() {
    let of_staff = shop().routes[0].auth.clone();
    let routes = |head: &[&str]| {
        let mut manifest = shop();
        manifest.routes.push(ManifestRoute::handler("/page", ["GET"], of_staff.clone()));
        if !head.is_empty() {
            manifest.routes.push(ManifestRoute::handler(
                "/page",
                head.iter().copied(),
                of_staff.clone(),
            ));
        }
        let sent = request("HEAD", "/page", &[COOKIE]);
        let found = explained_in(&manifest, &sent, &user(&[], 0));
        let changes = found.edit.unwrap().changes;
        changes.into_iter().flat_map(|change| change.methods).collect::<Vec<_>>()
    };
    assert_eq!(routes(&["HEAD"]), ["HEAD"]);
    assert!(routes(&[]).contains(&"GET".to_owned()));
}

#[test]
fn a_websocket_over_http2_finds_the_route_of_get() {
    let mut request = request(
        "CONNECT",
        "https://api.shop.example/orders",
        &[("origin", "https://evil.example"), ("cookie", "__Host-sid=s")],
    );
    request.extensions_mut().insert(Protocol::new("websocket"));
    *request.version_mut() = http::Version::HTTP_2;
    let explanation = explained(&request, &user(&["staff"], 0));
    assert_eq!(explanation.decision.refusal(), Some(Refusal::WebSocketOrigin));
    let (path, methods) = explanation.route.as_ref().unwrap();
    assert!(path == "/orders" && methods.contains(&"GET".to_owned()), "{path} {methods:?}");
    assert!(explanation.page.unwrap().contains("WebSocket connection failed"));
    let nearest = explanation.nearest.unwrap();
    assert_eq!(nearest.steps, [format!("send it from a page of `{APP}`")]);
    assert_eq!(nearest.request.extensions().get(), Some(&Protocol::new("websocket")));
    let edit = explanation.edit.unwrap();
    assert!(edit.steps[0].contains("https://evil.example"), "{:?}", edit.steps);
}

/// HEAD opens no WebSocket, so that a proxy gets it like any other safe request.
#[test]
fn head_with_upgrade_reaches_a_proxy() {
    let mut manifest = shop();
    manifest.routes.push(ManifestRoute::new(
        RouteKind::Proxy,
        "/up",
        ["GET", "HEAD"],
        Auth::Public,
    ));
    let upgrade = [("upgrade", "websocket"), ("connection", "upgrade"), ("cookie", "theme=dark")];
    for (method, site) in [("HEAD", "none"), ("HEAD", "cross-site"), ("GET", "cross-site")] {
        let fields = [&upgrade[..], &[("sec-fetch-site", site)]].concat();
        let sent = request(method, "/up/a", &fields);
        let found = explained_in(&manifest, &sent, &RequestCredentials::default());
        assert_eq!(found.decision.outcome, Outcome::Reached, "{method} {site}");
    }
}

/// As the server takes them: tickets are issued from sessions, too, and the app may be named by its URL.
#[test]
fn an_issuer_is_taken_that_the_route_names_or_that_is_the_only_one() {
    const OWN: &str = "https://api.shop.example";
    const PARTNER: &str = "https://id.partner.example";
    let is_taken = |signs: bool, named: &[&str], credential: &str, issuer: Option<&str>| {
        let mut manifest = shop();
        let issuers = texts(named);
        let requirement = RouteRequirement { ticket: true, issuers, ..token() };
        let auth = Auth::Required(requirement);
        manifest.routes.push(ManifestRoute::handler("/live", ["GET"], auth));
        let accepts = vec![IssuerFacts::new(PARTNER)];
        let issuer_of_app = signs.then(|| OWN.to_owned());
        manifest.app.tokens = Some(TokenFacts { issuer: issuer_of_app, accepts, ..tokens() });
        let login = Login { age: Some(0), issuer: issuer.map(str::to_owned), ..Login::default() };
        let valid = CredentialState::Valid(login);
        let (sent, caller) = match credential {
            "ticket" => (
                request("GET", "/live?ticket=1", &[]),
                RequestCredentials { ticket: valid, ..RequestCredentials::default() },
            ),
            _ => (
                request("GET", "/live", &[("authorization", "Bearer 1")]),
                RequestCredentials { token: valid, ..RequestCredentials::default() },
            ),
        };
        explained_in(&manifest, &sent, &caller).decision.outcome == Outcome::Reached
    };
    let unknown = Some("https://unknown.invalid");
    for (signs, named, credential, issuer, expected) in [
        (true, &[OWN][..], "token", None, true),
        (true, &[PARTNER], "token", None, false),
        (true, &[], "token", Some(PARTNER), false),
        (false, &[], "token", Some(PARTNER), true),
        (false, &[], "token", unknown, false),
        (false, &[], "token", None, false),
        (false, &[], "ticket", None, true),
        (false, &[], "ticket", unknown, false),
        (false, &[PARTNER], "ticket", None, false),
    ] {
        let found = is_taken(signs, named, credential, issuer);
        assert_eq!(found, expected, "{signs} {named:?} {credential} {issuer:?}");
    }
}

#[test]
fn objects_are_explained_by_what_their_caller_leaves_open() {
    let mut manifest = shop();
    let orders = manifest.routes.iter_mut().filter(|route| route.path == "/orders/{id}");
    orders.for_each(|route| {
        route.csrf = Csrf::Exempt("a test".to_owned());
        route.object = Some(order("edit", id()));
    });
    manifest.objects = object_rules(&[
        ("Order.view", "authenticated | draft"),
        ("Order.edit", "owner(user) | same(team) & role(\"lead\")"),
    ]);
    let left = |roles: &[&str]| {
        let sent = request("PUT", "/orders/1", &[COOKIE]);
        let found = explained_in(&manifest, &sent, &user(roles, 0));
        let rules = found.objects.into_iter().map(|found| (found.rule, found.left));
        rules.collect::<Vec<_>>()
    };
    let object = |text: &str| LeftCondition::Object(text.to_owned());
    let rules = |edit: &str| {
        vec![
            ("Order.view".to_owned(), LeftCondition::Holds),
            ("Order.edit".to_owned(), object(edit)),
        ]
    };
    assert_eq!(left(&["staff"]), rules("owner(user)"));
    assert_eq!(left(&["staff", "lead"]), rules("owner(user) | same(team)"));
    // A caller that does not reach the handler gets no object.
    assert_eq!(left(&[]), []);
    let route = manifest.routes.iter().find(|route| route.object.is_some()).unwrap();
    let anonymous = objects::evaluate(&manifest, route, None);
    let anonymous: Vec<_> = anonymous.into_iter().map(|found| found.left).collect();
    assert_eq!(anonymous, [object("draft"), LeftCondition::Fails]);
    let issuer = Some("https://id.partner.example".to_owned());
    let foreign = Login { issuer, roles: texts(&["lead"]), ..Login::default() };
    let foreign = objects::evaluate(&manifest, route, Some(&foreign));
    assert!(foreign.iter().all(|found| found.left == LeftCondition::Fails), "{foreign:?}");
    // The engine is named where it may be asked.
    manifest.objects.insert("Order.edit".to_owned(), "engine & role(\"lead\")".to_owned());
    manifest.app.engine = Some(EngineFacts { name: "cedar".to_owned(), ..EngineFacts::default() });
    let engines = |roles: &[&str]| {
        let sent = request("PUT", "/orders/1", &[COOKIE]);
        let found = explained_in(&manifest, &sent, &user(roles, 0));
        found.objects.into_iter().map(|found| found.engine).collect::<Vec<_>>()
    };
    assert_eq!(engines(&["staff"]), [None, None]);
    assert_eq!(engines(&["staff", "lead"]), [None, Some("cedar".to_owned())]);
}
