//! `PolicyLayer` in front of a real axum router.

use axum::{
    Router,
    http::{HeaderName, StatusCode},
    response::IntoResponse,
    routing::{get, post},
};
use policy_server::{
    CorsPolicy, PolicyLayer,
    testing::{TestClient, TestResponse},
};

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
async fn a_preflight_allows_only_methods_that_need_no_permission_beside_those_of_the_policy() {
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
        assert_eq!(response.header_all("vary"), ["origin"]);
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
async fn what_a_handler_writes_into_cors_headers_is_removed() {
    let client = client(SHOP);
    let refused = client.get("/forged").origin("https://evil.example").send().await;
    assert_eq!(cors_headers(&refused), [""; 0]);
    assert_eq!(refused.header_all("vary"), ["accept-encoding, origin"]);

    let granted = client.get("/forged").origin("https://a.partner.example").send().await;
    let allowed = granted.header_all("access-control-allow-origin");
    assert_eq!(allowed, ["https://a.partner.example"]);
    assert_eq!(granted.header("access-control-max-age"), None);
}
