//! One record for each decision that an operator may have to understand later.
//!
//! Covers: refusals of each kind of gate (host, route, CORS, CSRF), handlers, sampling, the
//! lock file (its digest), secrets, hostile headers.

use policy_server::{DecisionRecords, http::Method};
use policy_tests::log::Log;

use super::*;

const TARGET: &str = "policy::decision";

#[get("/open")]
#[cors(origins = ["https://app.shop.example"])]
#[auth(public)]
async fn open() -> &'static str {
    "open"
}

#[post("/orders")]
#[auth(session)]
async fn order() {}

/// A request, and the parts of its record.
type Case =
    (Method, &'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const PREFLIGHT: &[(&str, &str)] = &[
    ("origin", "https://evil.example"),
    ("access-control-request-method", "PUT"),
    ("sec-fetch-site", "cross-site"),
];

const FORGED: &[(&str, &str)] =
    &[("origin", "https://evil.example\tcode=\"forged\""), ("cookie", "sid=secret")];

fn shop() -> App<()> {
    App::new(()).sessions(Sessions::memory()).routes(routes![open, order])
}

#[tokio::test]
async fn a_refusal_is_recorded_with_its_reason_and_without_secrets() {
    let (log, _guard) = Log::start(TARGET);
    let digest = format!("policy=\"{}\"", shop().manifest().digest());
    let client = shop().decision_records(DecisionRecords::refusals()).test();
    let cases: [Case; 4] = [
        (
            Method::OPTIONS,
            "/open",
            PREFLIGHT,
            &[
                "status=403",
                "code=\"cors.origin-not-granted\"",
                "asks=\"PUT\"",
                "site=\"cross-site\"",
            ],
        ),
        (Method::POST, "/orders", FORGED, &["status=401", "cookie=true", "authorization=false"]),
        (Method::GET, "/nowhere?q=secret", &[], &["path=/nowhere", "code=\"route.not-found\""]),
        (Method::GET, "/open", &[], &[]),
    ];
    for (method, path, headers, _) in &cases {
        let mut request = client.request(method.clone(), path);
        for (name, value) in *headers {
            request = request.header(*name, *value);
        }
        request.send().await;
    }
    let lines = log.with("INFO");
    assert_eq!(lines.len(), 3, "{lines:?}");
    for (line, (.., parts)) in lines.iter().zip(&cases) {
        assert_parts(line, parts);
        assert_parts(line, &[&digest]);
        assert!(!line.contains("secret") && !line.contains('\t'), "{line}");
    }
}

/// A browser that opens a page sees the login page, and no problem. Such a request is no part of
/// the sample of admitted ones.
#[tokio::test]
async fn a_refusal_that_redirects_to_the_login_page_is_recorded() {
    #[get("/account")]
    #[auth(session)]
    async fn account() {}

    let (log, _guard) = Log::start(TARGET);
    let client = App::new(())
        .sessions(Sessions::memory().login_page("/sign-in"))
        .routes(routes![open, account])
        .decision_records(DecisionRecords::refusals().and_one_in(2))
        .test();
    for _ in 0..2 {
        let page = client.get("/account").header("sec-fetch-mode", "navigate").send().await;
        assert_eq!(page.status(), 303);
        client.get("/open").send().await;
    }
    let lines = log.with("INFO");
    assert_eq!(lines.len(), 3, "{lines:?}");
    let refused = &["status=303", "code=\"auth.credentials-missing\"", "route=\"/account\""];
    assert_parts(&lines[0], refused);
    assert_parts(&lines[1], &["status=200", "route=\"/open\""]);
    assert_parts(&lines[2], refused);
}

#[tokio::test]
async fn a_sample_of_admitted_requests_is_recorded() {
    let (log, _guard) = Log::start(TARGET);
    let client = shop().decision_records(DecisionRecords::refusals().and_one_in(3)).test();
    for _ in 0..7 {
        client.get("/open").send().await;
    }
    let lines = log.with("INFO");
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_parts(&lines[0], &["status=200", "route=\"/open\""]);
}

#[tokio::test]
async fn decision_records_are_off_by_default() {
    let (log, _guard) = Log::start(TARGET);
    shop().test().get("/nowhere").send().await;
    assert_eq!(log.with("INFO").len(), 0);
}
