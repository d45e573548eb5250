//! A candidate policy beside the one in force: differences are counted, and no response changes.
//!
//! Covers: each gate, requests without a route, rates, run-time lists of origins, sessions and
//! tokens, logs, hostile headers, a candidate that cannot be.

use policy_server::{
    Clock, Error, SharedOrigins, TrustedProxies,
    candidate::{Candidate, Counts, Difference},
    extract::PeerAddr,
    http::Method,
    manifest::{Auth, Manifest, ManifestRoute},
    testing::{TestClient, TestResponse},
    tokens::SecretKey,
};
use policy_tests::log::Log;

use super::*;

const SHOP: CorsPolicy = CorsPolicy::origins(&["https://app.shop.example"]).build();
const OTHERS: CorsPolicy = CorsPolicy::origins(&["https://other.shop.example"]).build();

/// The routes in force, and those of the candidate.
mod now {
    use super::*;

    #[get("/prices")]
    #[cors(SHOP)]
    #[auth(public)]
    pub(super) async fn prices() -> &'static str {
        "prices"
    }

    #[get("/orders")]
    #[put("/orders")]
    #[auth(session | token)]
    pub(super) async fn orders(_who: Principal) -> &'static str {
        "orders"
    }

    #[get("/old")]
    #[auth(public)]
    pub(super) async fn old() {}

    #[get("/limited")]
    #[auth(public)]
    #[limit(rate = "1/h")]
    pub(super) async fn limited() {}
}

mod next {
    use super::*;

    #[get("/prices")]
    #[cors(OTHERS)]
    #[auth(public)]
    pub(super) async fn prices() {}

    #[get("/orders")]
    #[auth(session | token, roles = ["buyer"], fresh = "10m")]
    pub(super) async fn orders() {}

    #[get("/new")]
    #[auth(session)]
    pub(super) async fn new() {}

    #[get("/limited")]
    #[auth(session)]
    pub(super) async fn limited() {}
}

#[post("/login/{role}")]
#[auth(public)]
#[csrf(exempt = "a test is no page")]
async fn login(role: String, sessions: Sessions) -> Result<(), Problem> {
    sessions.login(Identity::new("ada").roles([role])).await.map_err(Problem::internal)
}

#[post("/token/{role}")]
#[auth(public)]
async fn token(role: String, tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new("ada").roles([role]))?.access_token)
}

fn base() -> App<()> {
    let secret = SecretKey::from_bytes(*b"\x8f0123456789abcdef0123456789abcde");
    App::new(())
        .sessions(Sessions::memory())
        .tokens(Tokens::hs256([("k1", secret)]).expect("a key"))
        .routes(routes![login, token])
}

fn in_force() -> App<()> {
    base().routes(routes![now::prices, now::orders, now::old, now::limited])
}

fn candidate() -> Candidate {
    let app = base().routes(routes![next::prices, next::orders, next::new, next::limited]);
    Candidate::new(app.manifest())
}

type Fields = &'static [(&'static str, &'static str)];

async fn send(client: &TestClient, line: &str, fields: Fields) -> TestResponse {
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let method = Method::from_bytes(method.as_bytes()).expect("a method");
    let mut request = client.request(method, path);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.send().await
}

/// The difference that one request makes.
fn only(candidate: &Candidate, case: &str) -> Option<Difference> {
    let differences = candidate.differences();
    assert!(differences.len() < 2, "{case}: {differences:#?}");
    differences.into_iter().next()
}

const FROM_SHOP: Fields = &[("origin", "https://app.shop.example")];
const FROM_OTHER: Fields = &[("origin", "https://other.shop.example")];
const ASKS_FROM_SHOP: Fields =
    &[("origin", "https://app.shop.example"), ("access-control-request-method", "GET")];
const STRANGE: Fields = &[("host", "evil.example")];

#[tokio::test]
async fn differences_are_counted_with_both_outcomes() {
    let missing = "auth.credentials-missing";
    for (line, fields, expected) in [
        ("GET /prices", &[][..], None),
        ("GET /prices", FROM_SHOP, Some(("reached", "reached", "-access-control-allow-origin"))),
        ("HEAD /prices", FROM_OTHER, Some(("reached", "reached", "+access-control-allow-origin"))),
        (
            "OPTIONS /prices",
            ASKS_FROM_SHOP,
            Some((
                "preflight",
                "cors.origin-not-granted",
                "-access-control-allow-origin -access-control-allow-methods",
            )),
        ),
        ("OPTIONS /prices", &[], None),
        ("OPTIONS *", &[], None),
        ("DELETE /prices", &[], None),
        ("GET /old", &[], Some(("reached", "route.not-found", ""))),
        ("GET /nowhere", &[], None),
        ("GET /new", &[], Some(("route.not-found", missing, ""))),
        ("PUT /orders", &[], Some((missing, "route.method-not-allowed", ""))),
        ("PURGE /orders", &[], None),
        ("GET /orders", &[], None),
        ("GET /orders", &[("authorization", "Bearer nonsense")], None),
        ("GET /orders", &[("authorization", "nonsense nonsense nonsense")], None),
        ("GET /prices", STRANGE, None),
        ("GET /limited", &[], Some(("reached", missing, ""))),
    ] {
        let candidate = candidate();
        send(&in_force().report_only(&candidate).test(), line, fields).await;
        let case = format!("{line} {fields:?}");
        let found = only(&candidate, &case);
        let found = found.as_ref().map(|one| (one.decided, one.candidate, &*one.fields));
        assert_eq!(found, expected, "{case}");
        let Counts { agreed, differed, undecided, .. } = candidate.counts();
        let expected = (u64::from(found.is_none()), u64::from(found.is_some()), 0);
        assert_eq!((agreed, differed, undecided), expected, "{case}");
    }
}

/// A credential of a user with this role: the name of its header, and the value.
async fn credential(client: &TestClient, role: &str, is_token: bool) -> (&'static str, String) {
    if is_token {
        let token = client.post(&format!("/token/{role}")).send().await.text();
        return ("authorization", format!("Bearer {token}"));
    }
    let login = client.post(&format!("/login/{role}")).send().await;
    let cookie = login.header("set-cookie").expect("a session");
    ("cookie", cookie.split(';').next().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn candidates_use_what_the_gates_learned_about_the_caller() {
    for (role, is_token, minutes, expected) in [
        ("buyer", false, 1, None),
        ("guest", false, 1, Some("auth.rights-missing")),
        ("buyer", false, 11, Some("auth.login-too-old")),
        ("guest", true, 1, Some("auth.rights-missing")),
    ] {
        let (candidate, clock) = (candidate(), Clock::at(1_800_000_000));
        let client = in_force().clock(clock.clone()).report_only(&candidate).test();
        let (name, value) = credential(&client, role, is_token).await;
        clock.advance(Duration::from_secs(60 * minutes));
        let response = client.get("/orders").header(name, value).send().await;
        assert_eq!(response.status(), 200);
        let found = candidate.differences();
        // Both policies have the routes that issue credentials.
        let found = found.first().map(|one| one.candidate);
        assert_eq!(found, expected, "{role}, {is_token}, {minutes} minutes");
        assert_eq!(candidate.counts().undecided, 0);
    }
}

/// A caller whom a gate of the policy in force refuses is identified as well.
#[tokio::test]
async fn candidates_identify_callers_that_the_current_policy_refuses() {
    let stricter = || base().routes(routes![next::orders]);
    let candidate = Candidate::new(base().routes(routes![now::orders]).manifest());
    for is_token in [false, true] {
        let client = stricter().report_only(&candidate).test();
        let (name, value) = credential(&client, "guest", is_token).await;
        let response = client.get("/orders").header(name, value).send().await;
        assert_eq!(response.status(), 403);
    }
    let found = candidate.differences();
    // The app in force has no PUT there, and no request used it.
    let found: Vec<_> = found.iter().map(|one| (one.decided, one.candidate, one.count)).collect();
    assert_eq!(found, [("auth.rights-missing", "reached", 2)]);
}

#[tokio::test]
async fn requests_without_an_identified_caller_are_undecided() {
    let candidate = candidate();
    let client = in_force().report_only(&candidate).test();
    let (name, cookie) = credential(&client, "buyer", false).await;
    // The route in force is public, so it did not ask whose session it is.
    let response = client.get("/limited").header(name, cookie.clone()).send().await;
    assert_eq!(response.status(), 200);
    assert_eq!(candidate.counts().undecided, 1, "{:?}", candidate.differences());
    // This one is over its rate.
    let response = client.get("/limited").send().await;
    assert_eq!(response.status(), 429);
    assert_eq!(candidate.counts().undecided, 2, "{:?}", candidate.differences());
    // A route that only the candidate has: the request would get to its authentication.
    client.get("/new").header(name, cookie).send().await;
    let difference = only(&candidate, "a route of the candidate").expect("a difference");
    assert_eq!((difference.decided, difference.candidate), ("route.not-found", "undecided"));
    assert_eq!(difference.route.as_deref(), Some("/new"));
}

#[get("/partners")]
#[cors(origins = config("partners"))]
#[auth(public)]
async fn partners() {}

#[tokio::test]
async fn candidates_use_the_run_time_lists_of_the_app() {
    let list = SharedOrigins::new();
    let app = || App::new(()).origins("partners", &list).routes(routes![partners]);
    let candidate = Candidate::new(app().manifest());
    let client = app().report_only(&candidate).test();
    for (origins, is_granted) in
        [(&[][..], false), (&["https://app.shop.example"][..], true), (&[][..], false)]
    {
        list.replace(origins).expect("a list");
        let response = send(&client, "GET /partners", FROM_SHOP).await;
        let granted = response.header("access-control-allow-origin");
        assert_eq!(granted.is_some(), is_granted, "{origins:?}");
    }
    assert_eq!((candidate.counts().agreed, candidate.counts().differed), (3, 0));
}

#[tokio::test]
async fn a_flood_of_differences_is_counted_and_not_logged() {
    let (log, _guard) = Log::start("policy_server");
    let digest = format!("candidate=\"{}\"", {
        base()
            .routes(routes![next::prices, next::orders, next::new, next::limited])
            .manifest()
            .digest()
    });
    let candidate = candidate();
    let client = in_force().report_only(&candidate).test();
    let forged: Fields =
        &[("origin", "https://evil.example\tcode=\"forged\""), ("cookie", "sid=secret")];
    for _ in 0..300 {
        send(&client, "GET /old?q=secret", forged).await;
    }
    assert_eq!(candidate.counts().differed, 300);
    assert_eq!(only(&candidate, "a flood").map(|one| one.count), Some(300));
    let lines: Vec<_> =
        log.with("INFO").into_iter().filter(|line| line.contains(&digest)).collect();
    // Twenty lines a second: the flood takes a few seconds at most.
    assert!(!lines.is_empty() && lines.len() <= 200, "{} lines", lines.len());
    for part in [
        "code=\"candidate.differs\"",
        "method=GET",
        "path=/old",
        "route=\"/old\"",
        "decided=\"reached\"",
        "would=\"route.not-found\"",
        "fields=\"\"",
    ] {
        assert!(lines[0].contains(part), "no `{part}` in `{}`", lines[0]);
    }
    for line in &lines {
        assert!(!line.contains("secret") && !line.contains('\t'), "{line}");
    }
}

#[get("/page")]
#[auth(public)]
#[isolation(same_origin)]
async fn page() {}

/// In development, the own origin has the scheme that the client uses.
#[tokio::test]
async fn candidates_use_the_scheme_that_a_proxy_reports() {
    let app = || {
        let proxies = TrustedProxies::new(["203.0.113.9"]).x_forwarded();
        App::new(()).behind(proxies).routes(routes![page])
    };
    let candidate = Candidate::new(app().manifest());
    let client = app().report_only(&candidate).test();
    let peer = PeerAddr("203.0.113.9:1".parse().expect("an address"));
    for (scheme, status) in [("https", 200), ("http", 403)] {
        let request = client.get("/page").origin("https://localhost").extension(peer);
        let request = request.header("x-forwarded-for", "192.0.2.1");
        let response = request.header("x-forwarded-proto", scheme).send().await;
        assert_eq!(response.status(), status, "{scheme}");
    }
    assert_eq!(only(&candidate, "an own page over https, and one over http"), None);
    let Counts { agreed, undecided, .. } = candidate.counts();
    assert_eq!((agreed, undecided), (2, 0));
}

#[test]
fn a_candidate_that_cannot_be_stops_the_start() {
    let broken = |path: &str| {
        let mut manifest = Manifest::new();
        manifest.routes.push(ManifestRoute::handler(path, ["GET"], Auth::Public));
        let Err(Error::Start(problems)) = in_force().report_only(manifest).check() else {
            panic!("an app starts with `{path}`");
        };
        problems
    };
    let [problem] = &*broken("orders") else { panic!("one problem") };
    assert_eq!((problem.code(), problem.location()), ("app.candidate", "App::report_only"));
    assert!(problem.to_string().contains("the path `orders`"), "{problem}");
}
