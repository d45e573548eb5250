//! In the development profile, a response names the code of its problem for the tools of browsers.
//!
//! Covers: each kind of refusal, HEAD, problems of handlers with codes and headers of their own,
//! pages of other origins, consoles, the public origin.

use policy_server::{
    http::Method,
    testing::{Browser, Fetch, Network},
};

use super::*;

const SHOP: CorsPolicy = CorsPolicy::origins(&["http://localhost:3000"]).build();

#[get("/gone")]
#[cors(SHOP)]
#[auth(public)]
async fn gone() -> Problem {
    Problem::new(StatusCode::GONE).code("shop.gone")
}

#[get("/forged")]
#[auth(public)]
async fn forged() -> Problem {
    Problem::new(StatusCode::GONE).code("a\", evil;desc=\"b")
}

#[get("/timed")]
#[auth(public)]
async fn timed() -> ([(&'static str, &'static str); 1], Problem) {
    ([("server-timing", "db;dur=5")], Problem::new(StatusCode::GONE).code("shop.gone"))
}

#[get("/orders")]
#[cors(origins = ["http://localhost:3000"], credentials)]
#[auth(session)]
async fn orders() {}

fn shop() -> App<()> {
    App::new(()).sessions(Sessions::memory()).routes(routes![hello, gone, forged, timed, orders])
}

const ASKS: &[(&str, &str)] =
    &[("origin", "https://evil.example"), ("access-control-request-method", "GET")];

/// The values of `Server-Timing`.
async fn server_timing(
    app: App<()>,
    method: Method,
    path: &str,
    fields: &[(&str, &str)],
) -> Vec<String> {
    let mut request = app.test().request(method, path);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let response = request.send().await;
    let values = response.headers().get_all("server-timing").into_iter();
    values.map(|value| value.to_str().expect("ASCII").to_owned()).collect()
}

#[tokio::test]
async fn the_code_of_a_problem_is_in_server_timing() {
    for (method, path, fields, codes) in [
        (Method::GET, "/hello", &[][..], &[][..]),
        (Method::OPTIONS, "/hello", &[], &[]),
        (Method::GET, "/nowhere", &[], &["route.not-found"]),
        (Method::DELETE, "/hello", &[], &["route.method-not-allowed"]),
        (Method::GET, "/a//b", &[], &["wire.path-empty-segment"]),
        (Method::GET, "/hello", &[("host", "evil.example")], &["origin.host-not-loopback"]),
        (Method::OPTIONS, "/orders", ASKS, &["cors.origin-not-granted"]),
        (Method::GET, "/orders", &[], &["auth.credentials-missing"]),
        (Method::HEAD, "/orders", &[("accept", "text/html")], &["auth.credentials-missing"]),
        (Method::GET, "/gone", &[], &["shop.gone"]),
        // A code that could not be written there unchanged.
        (Method::GET, "/forged", &[], &[]),
    ] {
        let expected: Vec<_> = codes.iter().map(|code| format!("policy;desc=\"{code}\"")).collect();
        let found = server_timing(shop(), method.clone(), path, fields).await;
        assert_eq!(found, expected, "{method} {path}");
        let public = shop().public_origin("https://api.shop.example");
        let found = server_timing(public, method.clone(), path, fields).await;
        assert_eq!(found, [""; 0], "{method} {path}, with a public origin");
    }
    let both = ["db;dur=5", "policy;desc=\"shop.gone\""];
    assert_eq!(server_timing(shop(), Method::GET, "/timed", &[]).await, both);
}

#[tokio::test]
async fn it_is_there_over_sockets() {
    let server = Running::start(app()).await;
    let response = server.response(request("GET /nowhere", &[])).await;
    assert_eq!(response.header("server-timing"), Some("policy;desc=\"route.not-found\""));
}

#[tokio::test]
async fn pages_of_other_origins_do_not_see_it_and_consoles_do() {
    let net = Network::new().host("http://localhost", shop().into_service());
    let page = Browser::chromium().open("http://localhost:3000");
    let read = page.fetch(&net, Fetch::get("http://localhost/gone")).await;
    assert_eq!((read.status().as_u16(), read.header("server-timing")), (410, None));
    let fetch = Fetch::new("HEAD", "http://localhost/orders");
    let console = page.fetch(&net, fetch).await.console().expect("words");
    assert!(
        console.contains("\n  auth.credentials-missing: Credentials are required\n"),
        "{console}"
    );
}
