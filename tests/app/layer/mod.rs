//! `PolicyLayer` in front of a real axum router.

mod gates;
mod sockets;

use std::{net::SocketAddr, time::Duration};

use axum::{
    Router,
    extract::{ConnectInfo, Path},
    http::{Extensions, HeaderName, StatusCode},
    response::{Html, IntoResponse},
    routing::{get, post},
};
use policy_server::{
    CachePolicy, CorsPolicy, CsrfPolicy, Error, HeadersPolicy, Isolation, Limits, Mount, Policies,
    PolicyLayer, Rate, Rule, StartProblem, StoredOrigins,
    extract::{ClientAddr, CspNonce, MatchedRoute},
    policy::csp::{Directive, Name, Source},
    prelude::{App, CsrfToken, Principal, Session, Sessions, Tokens},
    testing::{TestClient, TestResponse},
};
use tower::Layer;

const SHOP: CorsPolicy =
    CorsPolicy::origins(&["https://shop.example", "https://*.partner.example"])
        .credentials()
        .methods(&["PUT"])
        .headers(&["content-type"])
        .expose(&["etag"])
        .max_age(600)
        .build();

const EVERYBODY: CorsPolicy = CorsPolicy::origins(&["*"]).build();

const ORIGIN: &str = "https://shop.example";

async fn forging_handler() -> impl IntoResponse {
    let forged = [
        ("access-control-allow-origin", "https://evil.example"),
        ("access-control-allow-credentials", "true"),
        ("access-control-max-age", "1"),
        ("vary", "accept-encoding"),
    ];
    (forged, "forged")
}

#[expect(clippy::unwrap_used, reason = "the policies of these tests are right")]
fn client(policy: CorsPolicy) -> TestClient {
    let router = Router::new()
        .route("/lamp", get(async || "a lamp").put(async || "lit"))
        .route("/broken", post(async || StatusCode::INTERNAL_SERVER_ERROR))
        .route("/forged", get(forging_handler))
        .layer(PolicyLayer::new(policy).unwrap());
    TestClient::new(router, "api.example")
}

async fn preflight(client: &TestClient, path: &str, origin: &str) -> TestResponse {
    let request = client.options(path).origin(origin);
    request.header("access-control-request-method", "PUT").send().await
}

fn cors_headers(response: &TestResponse) -> Vec<&str> {
    let names = response.headers().keys().map(HeaderName::as_str);
    names.filter(|name| name.starts_with("access-control-")).collect()
}

#[tokio::test]
async fn a_preflight_is_answered_before_the_router() {
    let client = client(SHOP);
    // The router has no OPTIONS at the first path, and nothing at the second.
    for path in ["/lamp", "/nowhere"] {
        let response = preflight(&client, path, ORIGIN).await;
        assert_eq!(response.status(), 204, "{path}");
        assert_eq!(response.header("access-control-allow-origin"), Some(ORIGIN));
        assert_eq!(response.header("access-control-allow-credentials"), Some("true"));
        assert_eq!(response.header("access-control-allow-methods"), Some("PUT"));
        assert_eq!(response.header("access-control-allow-headers"), Some("content-type"));
        assert_eq!(response.header("access-control-max-age"), Some("600"));
        assert_eq!(response.header_all("vary"), ["origin"]);
    }
}

#[tokio::test]
async fn a_preflight_allows_the_methods_of_the_policy_and_safelisted_ones() {
    let response = preflight(&client(EVERYBODY), "/lamp", ORIGIN).await;
    assert_eq!(response.status(), 204);
    assert_eq!(response.header("access-control-allow-methods"), Some("GET,HEAD,POST"));
    assert_eq!(response.header("access-control-allow-headers"), None);
}

#[tokio::test]
async fn a_refused_preflight_is_a_problem_without_grants() {
    let client = client(SHOP);
    let unknown = preflight(&client, "/lamp", "https://evil.example").await;
    let twice = client
        .options("/lamp")
        .origin(ORIGIN)
        .origin(ORIGIN)
        .header("access-control-request-method", "PUT")
        .send()
        .await;
    let no_method =
        client.options("/lamp").origin(ORIGIN).header("access-control-request-method", "").send();
    for (response, code) in [
        (unknown, "cors.origin-not-granted"),
        (twice, "cors.preflight-origin-repeated"),
        (no_method.await, "cors.request-method-malformed"),
    ] {
        assert_eq!(response.status(), 403, "{code}");
        assert_eq!(response.header("content-type"), Some("application/problem+json"));
        assert_eq!(response.json::<serde_json::Value>()["code"], code);
        assert_eq!(cors_headers(&response), [""; 0]);
        assert_eq!(response.header_all("vary"), ["accept, origin"]);
    }
}

#[tokio::test]
async fn every_response_of_the_router_carries_the_policy() {
    let client = client(SHOP);
    for (response, status) in [
        (client.get("/lamp").origin(ORIGIN).send().await, 200),
        (client.get("/nowhere").origin(ORIGIN).send().await, 404),
        (client.delete("/lamp").origin(ORIGIN).send().await, 405),
        (client.post("/broken").origin(ORIGIN).send().await, 500),
        (client.options("/lamp").origin(ORIGIN).send().await, 405),
    ] {
        assert_eq!(response.status(), status);
        assert_eq!(response.header("access-control-allow-origin"), Some(ORIGIN), "{status}");
        assert_eq!(response.header("access-control-allow-credentials"), Some("true"));
        assert_eq!(response.header("access-control-expose-headers"), Some("etag"));
        assert_eq!(response.header_all("vary"), ["origin"]);
    }
}

#[tokio::test]
async fn a_response_to_another_origin_varies_and_grants_nothing() {
    let client = client(SHOP);
    for request in [client.get("/lamp"), client.get("/lamp").origin("https://partner.example")] {
        let response = request.send().await;
        assert_eq!(response.text(), "a lamp");
        assert_eq!(cors_headers(&response), [""; 0]);
        assert_eq!(response.header_all("vary"), ["origin"]);
    }
}

#[tokio::test]
async fn cors_headers_of_handlers_are_removed() {
    let client = client(SHOP);
    let refused = client.get("/forged").origin("https://evil.example").send().await;
    assert_eq!(cors_headers(&refused), [""; 0]);
    assert_eq!(refused.header_all("vary"), ["accept-encoding, origin"]);

    let granted = client.get("/forged").origin("https://a.partner.example").send().await;
    let allowed = granted.header_all("access-control-allow-origin");
    assert_eq!(allowed, ["https://a.partner.example"]);
    assert_eq!(granted.header("access-control-max-age"), None);
}

const OWN: &str = "https://api.example";

const NONCE: HeadersPolicy =
    HeadersPolicy::builder().csp(&[Directive(Name::ScriptSrc, &[Source::Nonce])]).build();

/// Methods that only the router knows.
const READERS: CorsPolicy = CorsPolicy::origins(&[ORIGIN]).build();

fn router() -> Router {
    Router::new()
        .route("/lamp", get(async || "a lamp").put(async |body: String| body))
        .route("/sold", post(async |body: String| body))
        .route("/lamp/{name}", get(async |Path(name): Path<String>| name))
        .route("/nonce", get(async |nonce: CspNonce| Html(nonce.to_string())))
        .route("/slow", get(async || tokio::time::sleep(Duration::from_secs(60)).await))
        .route(
            "/kept",
            get(async || ([("cache-control", "max-age=60"), ("etag", "\"1\"")], "kept")),
        )
        .route(
            "/coded",
            get(async || ([("content-encoding", "gzip"), ("etag", "\"7\"")], "as if coded")),
        )
        .route("/own-cors", get(async || [("access-control-allow-origin", "*")]))
}

#[expect(clippy::unwrap_used, reason = "the policies of these tests are right")]
fn in_front(policies: policy_server::PolicyLayerBuilder) -> TestClient {
    TestClient::new(policies.build().unwrap().layer(router()), "api.example")
}

fn code(response: &TestResponse) -> String {
    response.json::<serde_json::Value>()["code"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_preflight_allows_the_methods_that_the_router_serves() {
    for client in [
        in_front(PolicyLayer::builder().policies(Policies::new().cors(READERS))),
        // One way to pass the layer to axum's own server.
        TestClient::new(
            Router::new()
                .fallback_service(PolicyLayer::new(READERS).expect("right").layer(router())),
            "api.example",
        ),
    ] {
        for (path, methods) in [
            ("/lamp", "GET,HEAD,PUT"),
            ("/sold", "POST"),
            ("/lamp/a", "GET,HEAD"),
            // No route exists there: browsers may send these methods without a permission.
            ("/nowhere", "GET,HEAD,POST"),
        ] {
            let response = preflight(&client, path, ORIGIN).await;
            assert_eq!(response.status(), 204, "{path}");
            assert_eq!(response.header("access-control-allow-methods"), Some(methods), "{path}");
            assert_eq!(response.header("allow"), None, "{path}");
            let has_body = path == "/lamp" || path == "/sold";
            let headers = response.header("access-control-allow-headers");
            assert_eq!(headers, has_body.then_some("content-type"), "{path}");
        }
    }
}

/// Every method that a preflight allows is served: none gets 405.
#[tokio::test]
async fn no_method_is_claimed_that_is_not_served() {
    let client = in_front(PolicyLayer::builder().policies(Policies::new().cors(READERS)));
    for path in ["/lamp", "/sold", "/lamp/a", "/kept"] {
        let response = preflight(&client, path, ORIGIN).await;
        let methods = response.header("access-control-allow-methods").unwrap_or_default();
        assert!(!methods.is_empty());
        for method in methods.split(',') {
            let method = method.parse().expect("a method");
            let served = client.request(method, path).origin(ORIGIN).send().await;
            assert_eq!(served.status(), 200, "{path}");
        }
    }
}

#[tokio::test]
async fn a_layer_carries_the_facets_that_it_states() {
    let client = in_front(
        PolicyLayer::builder().public_origin(OWN).policies(
            Policies::new()
                .cors(READERS)
                .cache(CachePolicy::private().max_age(5).build())
                .headers(NONCE),
        ),
    );
    let response = client.get("/nonce").origin(ORIGIN).send().await;
    assert_eq!(response.header("access-control-allow-origin"), Some(ORIGIN));
    let nonce = format!("script-src 'nonce-{}'", response.text());
    let csp = response.header("content-security-policy").unwrap_or_default();
    assert!(csp.starts_with(&nonce), "{csp}");
    assert!(response.header("strict-transport-security").is_some());
    let sold = client.post("/sold").send().await;
    assert_eq!((sold.status().as_u16(), sold.header("cache-control")), (200, Some("no-store")));
    let missing = client.get("/nowhere").send().await;
    assert_eq!(
        (missing.status().as_u16(), missing.header("cache-control")),
        (404, Some("no-store"))
    );
    let elsewhere = client.get("/lamp").header("host", "evil.example").send().await;
    assert_eq!(elsewhere.status(), 421);
    // Caching is the router's, except for pages that get a nonce.
    let client = in_front(PolicyLayer::builder().policies(Policies::new().headers(NONCE)));
    for (path, control) in [("/nonce", "private, no-cache"), ("/kept", "max-age=60")] {
        assert_eq!(client.get(path).send().await.header("cache-control"), Some(control), "{path}");
    }
}

/// Nothing is on by default.
#[tokio::test]
async fn a_layer_without_policies_changes_nothing() {
    let client = in_front(PolicyLayer::builder());
    let kept = client.get("/kept").header("if-none-match", "\"1\"").send().await;
    assert_eq!((kept.status().as_u16(), kept.text()), (200, "kept".to_owned()));
    let headers: Vec<_> = kept.headers().keys().map(HeaderName::as_str).collect();
    assert_eq!(headers.len(), 4, "{headers:?}");
    assert_eq!(kept.header("cache-control"), Some("max-age=60"));
    // The service may compare its own tag with `If-Match`.
    assert_eq!(client.get("/coded").send().await.header("etag"), Some("\"7\""));
    let own = client.get("/own-cors").send().await;
    assert_eq!(own.header("access-control-allow-origin"), Some("*"));
    assert_eq!(preflight(&client, "/lamp", ORIGIN).await.status(), 405);
}

/// CORS that is taken back is not left to the service.
#[tokio::test]
async fn a_layer_without_cors_shares_with_nobody() {
    let client = in_front(PolicyLayer::builder().policies(Policies::new().no_cors()));
    let own = client.get("/own-cors").origin(ORIGIN).send().await;
    assert_eq!((own.status().as_u16(), cors_headers(&own)), (200, vec![]));
    let refused = preflight(&client, "/own-cors", ORIGIN).await;
    assert_eq!((refused.status().as_u16(), &*code(&refused)), (403, "cors.origin-not-granted"));
}

#[tokio::test(start_paused = true)]
async fn a_layer_limits_bodies_times_and_requests_in_flight() {
    let limits = Limits::NONE.body(4).timeout(Duration::from_secs(5)).concurrency(1);
    let client =
        in_front(PolicyLayer::builder().policies(Policies::new().cors(READERS).limits(limits)));
    let ask = async |request: policy_server::testing::TestRequest| {
        let response = request.origin(ORIGIN).send().await;
        assert_eq!(response.header("access-control-allow-origin"), Some(ORIGIN));
        (response.status().as_u16(), response)
    };
    let large = || client.post("/sold").body("12345");
    let (status, declared) = ask(large().header("content-length", "5")).await;
    assert_eq!((status, code(&declared).as_str()), (413, "request.body-too-large"));
    // The body is cut off while axum's extractor reads it, and the extractor responds.
    assert_eq!(ask(large()).await.0, 413);
    assert_eq!(ask(client.post("/sold").body("1234")).await.0, 200);
    let (slow, second) = tokio::join!(ask(client.get("/slow")), ask(client.get("/lamp")));
    assert_eq!((slow.0, code(&slow.1).as_str()), (503, "handler.timed-out"));
    assert_eq!((second.0, code(&second.1).as_str()), (503, "limit.concurrency"));
    assert_eq!(ask(client.get("/lamp")).await.0, 200);
}

#[tokio::test]
async fn a_layer_counts_the_addresses_that_its_server_states() {
    let peer = |of: &Extensions| of.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0);
    let limits = Limits::NONE.rate(Rate::per_day(1));
    let client =
        in_front(PolicyLayer::builder().policies(Policies::new().limits(limits)).peer(peer));
    for (address, status) in [("192.0.2.1:1", 200), ("192.0.2.1:2", 429), ("192.0.2.2:1", 200)] {
        let address: SocketAddr = address.parse().expect("an address");
        let response = client.get("/lamp").extension(ConnectInfo(address)).send().await;
        assert_eq!(response.status(), status, "{address}");
        assert_eq!(response.header("retry-after").is_some(), status == 429);
    }
}

#[tokio::test]
async fn a_layer_judges_the_page_of_a_request() {
    let builder = || PolicyLayer::builder().public_origin(OWN);
    let csrf = in_front(builder().csrf(CsrfPolicy::Origin));
    let shared = in_front(builder().policies(Policies::new().cors(SHOP)).csrf(CsrfPolicy::Origin));
    let open = in_front(builder().policies(Policies::new().cors(READERS)).csrf(CsrfPolicy::Origin));
    let isolated = in_front(builder().policies(Policies::new().isolation(Isolation::SameOrigin)));
    const EVIL: &str = "https://evil.example";
    for (client, method, origin, expected) in [
        (&csrf, "POST", Some(OWN), ""),
        (&csrf, "POST", None, ""),
        (&csrf, "POST", Some(EVIL), "csrf.origin"),
        (&csrf, "GET", Some(EVIL), ""),
        (&csrf, "POST", Some(ORIGIN), "csrf.origin"),
        (&shared, "POST", Some(ORIGIN), ""),
        (&shared, "POST", Some(EVIL), "csrf.origin"),
        // A grant without credentials does not apply with a cookie.
        (&open, "POST", Some(ORIGIN), "csrf.origin"),
        (&isolated, "POST", Some(OWN), ""),
        (&isolated, "POST", Some(EVIL), "isolation"),
    ] {
        let path = if method == "GET" { "/lamp" } else { "/sold" };
        let mut request = client.request(method.parse().expect("a method"), path);
        request = request.header("cookie", "sid=1");
        if let Some(origin) = origin {
            request = request.origin(origin).header(
                "sec-fetch-site",
                match origin {
                    OWN => "same-origin",
                    _ => "cross-site",
                },
            );
        }
        let response = request.send().await;
        match expected {
            // A program with a cookie and without a page may be a page of an old browser.
            "" if origin.is_none() => assert_eq!(code(&response), "csrf.origin"),
            "" => assert_eq!(response.status(), 200, "{method} {origin:?}"),
            expected => {
                assert_eq!(response.status(), 403, "{method} {origin:?}");
                assert!(code(&response).contains(expected), "{}", code(&response));
            }
        }
    }
    for client in [&shared, &open] {
        let request = client.post("/sold").origin(ORIGIN).header("sec-fetch-site", "cross-site");
        assert_eq!(request.send().await.status(), 200);
    }
}

#[test]
fn a_layer_that_cannot_be_is_refused_with_all_problems() {
    let error = PolicyLayer::builder()
        .policies(
            Policies::new()
                .cors(CorsPolicy::origins(&[ORIGIN]).build())
                .headers(HeadersPolicy::builder().corp("same-origin").build())
                .limits(Limits::NONE.rate(Rate::per_day(1))),
        )
        .csrf(CsrfPolicy::Token)
        .public_origin("http://api.example")
        .build();
    let Err(Error::Start(problems)) = error else { panic!("{error:?}") };
    let rules: Vec<_> = problems.iter().map(StartProblem::rule).collect();
    for rule in [Rule::PublicOriginInsecure, Rule::RateOfLayer, Rule::CsrfTokenOfLayer] {
        assert!(rules.contains(&rule), "{rules:?}");
    }
    assert_eq!(rules.len(), 3, "{rules:?}");
    let callers = PolicyLayer::builder()
        .policies(Policies::new().limits(Limits::NONE.sockets_per_caller(1)))
        .build();
    let stored = PolicyLayer::builder()
        .origins("partners", &StoredOrigins::new([ORIGIN]))
        .policies(Policies::new().cors(CorsPolicy::origins_at_run_time("partners").build()))
        .build();
    for (layer, rule) in [(callers, Rule::RateOfLayer), (stored, Rule::StoredListWithoutStore)] {
        let Err(Error::Start(problems)) = layer else { panic!("{layer:?}") };
        assert_eq!(problems.iter().map(StartProblem::rule).collect::<Vec<_>>(), [rule]);
    }
}

/// The policy of the mount is written over that of the layer, and extractors see the app.
#[tokio::test]
async fn a_layer_in_a_mount_is_inside_of_the_policy_of_the_mount() {
    let inner = PolicyLayer::builder()
        .policies(
            Policies::new()
                .cors(READERS)
                .cache(CachePolicy::public().max_age(60).build())
                .limits(Limits::NONE.body(4)),
        )
        .build()
        .expect("right");
    let router =
        router().route("/template", get(async |route: MatchedRoute| route.path().to_owned()));
    let mount = Mount::new(inner.layer(router)).all_methods().strip_prefix().public();
    let app = App::new(()).policies(Policies::new().cors(EVERYBODY)).mount("/old", mount);
    let client = app.test();
    let response = client.get("/old/lamp").origin(ORIGIN).send().await;
    assert_eq!(response.header("access-control-allow-origin"), Some("*"));
    assert_eq!(response.header("cache-control"), Some("public, max-age=60"));
    assert_eq!(client.get("/old/template").send().await.text(), "/old/{*path}");
    assert_eq!(client.post("/old/sold").body("12345").send().await.status(), 413);
    // The app answers preflights, with the methods of its mount.
    let methods = preflight(&client, "/old/lamp", ORIGIN).await;
    let methods = methods.header("access-control-allow-methods");
    assert_eq!(methods, Some("DELETE,GET,HEAD,PATCH,POST,PUT,QUERY"));
}

/// Outside an app, extractors of the library fail with a code in the log, and the client is told
/// nothing.
#[tokio::test]
async fn extractors_outside_of_an_app_are_errors_with_a_code() {
    let router = Router::new()
        .route("/principal", get(async |_: Principal| ()))
        .route("/session", get(async |_: Session| ()))
        .route("/sessions", post(async |_: Sessions| ()))
        .route("/tokens", get(async |_: Tokens| ()))
        .route("/csrf", get(async |_: CsrfToken| ()))
        .route("/route", get(async |_: MatchedRoute| ()))
        .route("/client", get(async |_: ClientAddr| ()))
        .route("/nonce", get(async |_: CspNonce| ()));
    let layered = PolicyLayer::new(EVERYBODY).expect("right").layer(router.clone());
    let bare = TestClient::new(router, "localhost");
    let layered = TestClient::new(layered, "localhost");
    for client in [bare, layered] {
        for path in ["/principal", "/session", "/tokens", "/csrf", "/route", "/client", "/nonce"] {
            let response = client.get(path).send().await;
            assert_eq!(response.status(), 500, "{path}");
            assert_eq!(response.header("content-type"), Some("application/problem+json"));
            assert_eq!(code(&response), "handler.failed", "{path}");
        }
        assert_eq!(client.post("/sessions").send().await.status(), 500);
    }
}
