//! Security headers: on pages, on data, overridden by the app, and disabled.

use axum::response::Html;
use policy_core::headers::Frame;

use super::*;

#[get("/page")]
#[auth(public)]
async fn page() -> Html<&'static str> {
    Html("<p>page</p>")
}

#[get("/data")]
#[auth(public)]
async fn data() -> Json<u8> {
    Json(7)
}

#[get("/own")]
#[headers(csp = "default-src 'self'", frame = ["https://a.example"], referrer = "origin", permissions = ["camera=()"], coop = "same-origin", coep = "require-corp", corp = "same-site")]
#[auth(public)]
async fn own() -> Html<&'static str> {
    Html("own")
}

#[get("/api")]
#[headers(HeadersPolicy::API)]
#[auth(public)]
async fn api() -> Json<u8> {
    Json(7)
}

#[get("/bare")]
#[headers(none)]
#[auth(public)]
async fn bare() -> Html<&'static str> {
    Html("bare")
}

#[get("/written")]
#[auth(public)]
async fn written() -> ([(&'static str, &'static str); 3], Html<&'static str>) {
    let fields = [
        ("content-security-policy", "default-src 'none'"),
        ("x-content-type-options", "sniff"),
        ("referrer-policy", "no-referrer"),
    ];
    (fields, Html("written"))
}

#[get("/nonce")]
#[headers(HeadersPolicy::PAGES)]
#[auth(public)]
async fn nonce(nonce: CspNonce) -> (ETag, Html<String>) {
    (ETag::version(1), Html(format!("<script nonce=\"{nonce}\"></script>")))
}

#[get("/own-nonce")]
#[headers(csp = "script-src 'self' 'nonce'")]
#[auth(public)]
async fn own_nonce(nonce: CspNonce) -> ([(&'static str, &'static str); 1], Html<String>) {
    ([("cache-control", "public, max-age=60")], Html(nonce.to_string()))
}

/// Writes the policy with its nonce itself.
#[get("/written-nonce")]
#[headers(HeadersPolicy::PAGES)]
#[auth(public)]
async fn written_nonce(nonce: CspNonce) -> (ETag, [(&'static str, String); 2], Html<String>) {
    let fields = [
        ("content-security-policy", format!("script-src 'nonce-{nonce}'")),
        ("cache-control", "public, max-age=60".to_owned()),
    ];
    (ETag::version(1), fields, Html(nonce.to_string()))
}

/// Takes a nonce though its policy has none.
#[get("/no-nonce")]
#[auth(public)]
async fn no_nonce(nonce: CspNonce) -> String {
    nonce.to_string()
}

#[get("/nonce-problem")]
#[headers(HeadersPolicy::PAGES)]
#[auth(public)]
async fn nonce_problem() -> Problem {
    Problem::not_found()
}

#[get("/tagged")]
#[auth(public)]
async fn tagged() -> (ETag, Html<&'static str>) {
    (ETag::version(1), Html("tagged"))
}

const NAMES: [&str; 9] = [
    "x-content-type-options",
    "strict-transport-security",
    "content-security-policy",
    "x-frame-options",
    "referrer-policy",
    "permissions-policy",
    "cross-origin-opener-policy",
    "cross-origin-embedder-policy",
    "cross-origin-resource-policy",
];

/// The security headers of a response.
fn fields(response: &RawResponse) -> Vec<String> {
    let mut lines = response.lines();
    lines.retain(|line| NAMES.contains(&line.split_once(": ").unwrap().0));
    lines
}

fn app() -> App<()> {
    App::new(()).routes(routes![
        page,
        data,
        own,
        api,
        bare,
        written,
        nonce,
        own_nonce,
        written_nonce,
        no_nonce,
        nonce_problem,
        tagged
    ])
}

const OF_PAGES: [&str; 4] = [
    "content-security-policy: base-uri 'self'; object-src 'none'; frame-ancestors 'self'",
    "referrer-policy: strict-origin-when-cross-origin",
    "x-content-type-options: nosniff",
    "x-frame-options: SAMEORIGIN",
];

#[tokio::test]
async fn pages_have_more_than_data_and_a_route_says_its_own() {
    let server = Running::start(app()).await;
    for (path, expected) in [
        ("/page", &OF_PAGES[..]),
        ("/data", &["x-content-type-options: nosniff"]),
        ("/nowhere", &["x-content-type-options: nosniff"]),
        (
            "/own",
            &[
                "content-security-policy: default-src 'self'; base-uri 'self'; \
                 frame-ancestors https://a.example",
                "cross-origin-embedder-policy: require-corp",
                "cross-origin-opener-policy: same-origin",
                "cross-origin-resource-policy: same-site",
                "permissions-policy: camera=()",
                "referrer-policy: origin",
                "x-content-type-options: nosniff",
            ],
        ),
        (
            "/api",
            &[
                "content-security-policy: default-src 'none'; base-uri 'none'; \
                 frame-ancestors 'none'",
                "referrer-policy: no-referrer",
                "x-content-type-options: nosniff",
                "x-frame-options: DENY",
            ],
        ),
        ("/bare", &[]),
        (
            "/written",
            &[
                "content-security-policy: default-src 'none'",
                "referrer-policy: no-referrer",
                "x-content-type-options: nosniff",
                "x-frame-options: SAMEORIGIN",
            ],
        ),
    ] {
        for method in ["GET", "HEAD"] {
            let response = ask(&server, &format!("{method} {path}"), &[]).await;
            assert_eq!(fields(&response), expected, "{method} {path}");
        }
    }
    // The app disables them, and a route can declare its own.
    let server = Running::start(app().policies(Policies::new().no_headers())).await;
    assert_eq!(fields(&ask(&server, "GET /page", &[]).await), [""; 0]);
    assert_eq!(fields(&ask(&server, "GET /api", &[]).await).len(), 4);
    // The app's headers apply to every route without its own.
    const NOBODY: HeadersPolicy = HeadersPolicy::builder().frame(Frame::Nobody).build();
    let server = Running::start(app().policies(Policies::new().headers(NOBODY))).await;
    assert_eq!(ask(&server, "GET /page", &[]).await.header("x-frame-options"), Some("DENY"));
    assert_eq!(fields(&ask(&server, "GET /bare", &[]).await), [""; 0]);
}

#[tokio::test]
async fn only_a_service_with_https_promises_it() {
    let client = app().public_origin("https://api.example").test();
    for path in ["/page", "/data", "/nowhere", "/api"] {
        let response = client.get(path).send().await;
        assert_eq!(
            response.header("strict-transport-security"),
            Some("max-age=31536000"),
            "{path}"
        );
    }
    assert!(client.get("/bare").send().await.header("strict-transport-security").is_none());
    // A single setting.
    const SUBDOMAINS: HeadersPolicy = HeadersPolicy::builder().include_subdomains().build();
    let client = app()
        .policies(Policies::new().headers(SUBDOMAINS))
        .public_origin("https://api.example")
        .test();
    let response = client.get("/page").send().await;
    assert_eq!(
        response.header("strict-transport-security"),
        Some("max-age=31536000; includeSubDomains")
    );
}

#[tokio::test]
async fn each_page_has_a_nonce_of_its_own() {
    let server = Running::start(app()).await;
    let mut seen = BTreeSet::new();
    for _ in 0..20 {
        let response = ask(&server, "GET /nonce", &[]).await;
        let nonce = response.text().split('"').nth(1).unwrap().to_owned();
        assert_eq!(nonce.len(), 22, "{nonce}");
        let policy = response.header("content-security-policy").unwrap();
        assert_eq!(policy.matches("'nonce-").count(), 2, "{policy}");
        assert_eq!(policy.matches(&format!("'nonce-{nonce}'")).count(), 2, "{policy}");
        assert!(seen.insert(nonce));
    }
    for line in ["GET /own-nonce", "GET /written-nonce"] {
        let response = ask(&server, line, &[]).await;
        let policy = response.header("content-security-policy").unwrap();
        assert!(policy.contains(&format!("'nonce-{}'", response.text())), "{policy}");
        // A shared cache would give every visitor the same nonce, whatever the handler says.
        assert_eq!(response.header("cache-control"), Some("private, no-cache"), "{line}");
    }
    // A cached page keeps its policy: a 304 with a new nonce would break it.
    for line in ["GET /nonce", "GET /written-nonce"] {
        for field in ["if-none-match: \"1\"", "if-none-match: *"] {
            let response = ask(&server, line, &[field]).await;
            let policy = response.header("content-security-policy");
            assert_eq!((response.status, policy), (304, None), "{line}");
            assert_eq!(response.header("cache-control"), Some("private, no-cache"), "{line}");
        }
    }
    assert_eq!(ask(&server, "GET /no-nonce", &[]).await.status, 500);
    // Other content needs none, and an error page allows no script.
    assert_eq!(
        ask(&server, "GET /nonce-problem", &[]).await.header("content-security-policy"),
        None
    );
    let problem = ask(&server, "GET /nonce-problem", &["accept: text/html"]).await;
    assert!(!problem.header("content-security-policy").unwrap().contains("nonce"));
    assert_eq!(problem.header("x-frame-options"), Some("DENY"));
}

#[get("/script")]
#[auth(public)]
#[jsonp(callback = "callback")]
async fn script() -> Json<u64> {
    Json(7)
}

#[tokio::test]
async fn an_app_whose_fields_contradict_its_sharing_does_not_start() {
    const CORP: HeadersPolicy = HeadersPolicy::builder().corp("same-origin").build();
    let starts = |app: App<()>| app.check().is_ok();
    let corp = || Policies::new().headers(CORP);
    // Fetch, HTTP fetch: pages that CORS grants read a response whatever `corp` says.
    assert!(starts(App::new(()).policies(corp().cors(SHOP)).routes(routes![page, data])));
    assert!(!starts(App::new(()).policies(corp()).routes(routes![script])));
    let group = Group::new().policies(corp()).routes(routes![script]);
    assert!(!starts(App::new(()).group("/s", group)));
    assert!(starts(App::new(()).routes(routes![script])));
}

/// If a 304 had fewer fields, a cache would keep the old ones; if it had different ones, the page
/// would change.
#[tokio::test]
async fn a_304_does_not_take_fields_from_a_page() {
    let server = Running::start(app()).await;
    let response = ask(&server, "GET /tagged", &["if-none-match: *"]).await;
    assert_eq!(
        (response.status, &*fields(&response)),
        (304, &["x-content-type-options: nosniff".to_owned()][..])
    );
}
