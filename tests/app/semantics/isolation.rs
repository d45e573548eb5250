//! Which pages of other sites may load a response. `policy-core/tests/laws/headers/isolation.rs` tries
//! every combination of Fetch Metadata.

use super::*;

#[route(GET, POST, "/private")]
#[isolation(same_origin)]
#[auth(public)]
async fn own(State(calls): State<Calls>) -> &'static str {
    calls.fetch_add(1, Ordering::Relaxed);
    "own"
}

#[route(GET, POST, "/site")]
#[isolation(same_site)]
#[auth(public)]
async fn site(State(calls): State<Calls>) -> &'static str {
    calls.fetch_add(1, Ordering::Relaxed);
    "site"
}

#[route(GET, POST, "/shared")]
#[isolation(same_origin)]
#[cors(SHOP)]
#[auth(public)]
async fn shared(State(calls): State<Calls>) -> &'static str {
    calls.fetch_add(1, Ordering::Relaxed);
    "shared"
}

#[route(GET, POST, "/everybody")]
#[isolation(same_origin)]
#[cors(origins = ["*"])]
#[auth(public)]
async fn everybody(State(calls): State<Calls>) -> &'static str {
    calls.fetch_add(1, Ordering::Relaxed);
    "everybody"
}

#[get("/scripts")]
#[isolation(same_origin)]
#[jsonp(callback = "cb")]
#[auth(public)]
async fn scripts() -> Json<u8> {
    Json(7)
}

#[get("/open")]
#[isolation(none)]
#[auth(public)]
async fn open() -> &'static str {
    "open"
}

#[get("/inherits")]
#[auth(public)]
async fn inherits() -> &'static str {
    "inherits"
}

/// A page of the server's own origin.
const OWN_PAGE: &str = "origin: http://localhost";

type Calls = Arc<AtomicUsize>;

fn app(calls: &Calls) -> App<Calls> {
    App::new(Arc::clone(calls))
        .routes(routes![own, site, shared, everybody, scripts, open, inherits])
}

const SAME_ORIGIN: &str = "sec-fetch-site: same-origin";
const SAME_SITE: &str = "sec-fetch-site: same-site";
const CROSS_SITE: &str = "sec-fetch-site: cross-site";
const NAVIGATE: &str = "sec-fetch-mode: navigate";
const DOCUMENT: &str = "sec-fetch-dest: document";

/// A link, which every path admits. A form that is sent by POST is not one.
const LINK: [&str; 3] = [CROSS_SITE, NAVIGATE, DOCUMENT];

const PATHS: [&str; 4] = ["/private", "/site", "/shared", "/everybody"];

/// What a request states, and which of [`PATHS`] let it in.
const LOADS: [(&[&str], [bool; 4]); 22] = [
    (&[], [true; 4]),
    (&[OWN_PAGE], [true; 4]),
    (&[PAGE], [false, false, true, true]),
    (&[EVIL], [false, false, false, true]),
    (&[SAME_ORIGIN], [true; 4]),
    (&["sec-fetch-site: none"], [true; 4]),
    // A request that another site redirected (Fetch, tainted origin). Two modes are read as the
    // stricter one.
    (&[SAME_ORIGIN, "sec-fetch-mode: cors", "origin: null"], [false, false, false, true]),
    (&[SAME_ORIGIN, NAVIGATE, NAVIGATE, "origin: null"], [false, false, false, true]),
    (&[SAME_ORIGIN, "sec-fetch-mode: no-cors", "origin: null"], [true; 4]),
    (&[SAME_SITE], [false, true, false, false]),
    (&[SAME_SITE, PAGE], [false, true, true, true]),
    (&[CROSS_SITE], [false; 4]),
    (&[CROSS_SITE, PAGE], [false, false, true, true]),
    (&[CROSS_SITE, EVIL], [false, false, false, true]),
    (&LINK, [true; 4]),
    (&[CROSS_SITE, NAVIGATE, NAVIGATE, DOCUMENT], [false; 4]),
    (&[CROSS_SITE, NAVIGATE, DOCUMENT, "sec-fetch-dest: image"], [false; 4]),
    (&[CROSS_SITE, NAVIGATE, "sec-fetch-dest: iframe"], [false; 4]),
    (&["sec-fetch-site: cross-origin"], [false; 4]),
    (&["sec-fetch-site: Same-Origin"], [false; 4]),
    (&["sec-fetch-site:"], [false; 4]),
    (&[SAME_ORIGIN, SAME_ORIGIN], [false; 4]),
];

#[tokio::test]
async fn each_kind_of_load_is_let_in_or_refused() {
    let calls = Calls::default();
    let server = Running::start(app(&calls)).await;
    let mut connection = server.connect().await;
    for (fields, let_in) in LOADS {
        for (path, is_let_in) in PATHS.iter().zip(let_in) {
            for method in ["GET", "HEAD", "POST"] {
                let before = calls.load(Ordering::Relaxed);
                connection.send(request(&format!("{method} {path}"), fields)).await;
                let response = match method {
                    "HEAD" => connection.head().await,
                    _ => connection.response().await,
                };
                let expected = is_let_in && (fields != LINK || method != "POST");
                let status = if expected { 200 } else { 403 };
                assert_eq!(response.status, status, "{method} {path} {fields:?}");
                let called = calls.load(Ordering::Relaxed) - before;
                assert_eq!(called, usize::from(expected), "{method} {path} {fields:?}");
                let named = ["sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "origin"];
                let varies = vary(&response);
                assert!(named.iter().all(|name| varies.contains(*name)), "{response:?}");
            }
        }
    }
}

#[tokio::test]
async fn shared_routes_and_preflights_pass_isolation() {
    let server = Running::start(
        app(&Calls::default()).policies(Policies::new().isolation(Isolation::SameOrigin)),
    )
    .await;
    let script =
        ["sec-fetch-site: cross-site", "sec-fetch-mode: no-cors", "sec-fetch-dest: script"];
    assert_eq!(ask(&server, "GET /scripts?cb=f", &script).await.status, 200);
    assert_eq!(ask(&server, "GET /open", &script).await.status, 200);
    let refused = ask(&server, "GET /inherits", &script).await;
    assert_eq!(code(&refused), (403, "isolation.cross-site".to_owned()));
    assert_eq!(ask(&server, "GET /nowhere", &script).await.status, 404);
    let preflight = [
        PAGE,
        "access-control-request-method: POST",
        "sec-fetch-site: cross-site",
        "sec-fetch-mode: cors",
    ];
    assert_eq!(ask(&server, "OPTIONS /shared", &preflight).await.status, 204);
    // A page of another origin learns nothing from the refusal, and no cache stores it.
    let evil =
        ask(&server, "GET /shared", &[EVIL, "sec-fetch-site: cross-site", "sec-fetch-mode: cors"])
            .await;
    assert_eq!((evil.status, evil.sharing()), (403, vec![]));
    assert_eq!(evil.header("cache-control"), Some("no-store"));
}
