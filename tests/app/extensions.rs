//! `#[cors(extend, ..)]`: header names in addition to those of an outer policy.

use policy_server::manifest::Manifest;

use super::*;

const SHOP: CorsPolicy = CorsPolicy::origins(&["https://app.shop.example"])
    .credentials()
    .headers(&["x-shop"])
    .expose(&["etag"])
    .max_age(600)
    .build();

const TRACING: &[&str] = &["traceparent", "Baggage"];

#[get("/traced")]
#[cors(extend, headers = TRACING, expose = ["x-request-id", "ETag"])]
#[auth(public)]
async fn traced() {}

#[post("/told")]
#[cors(extend, expose = ["x-total"])]
#[auth(public)]
async fn told() {}

fn app() -> App<()> {
    App::new(()).public_origin("https://api.shop.example")
}

async fn preflight(client: &TestClient, path: &str, origin: &str, method: &str) -> TestResponse {
    let request = client.request(Method::OPTIONS, path).origin(origin);
    request.header("access-control-request-method", method).send().await
}

/// The route has the names of both; origins, credentials and `max_age` are those of the outer
/// policy.
#[tokio::test]
async fn a_route_adds_names_to_the_policy_of_its_app() {
    let client = app().policies(Policies::new().cors(SHOP)).routes(routes![traced, told]).test();
    let response = preflight(&client, "/traced", "https://app.shop.example", "GET").await;
    assert_eq!(response.status(), 204);
    assert_eq!(response.header("access-control-allow-headers"), Some("baggage,traceparent,x-shop"));
    assert_eq!(response.header("access-control-allow-credentials"), Some("true"));
    assert_eq!(response.header("access-control-max-age"), Some("600"));
    let response = client.get("/traced").origin("https://app.shop.example").send().await;
    assert_eq!(response.header("access-control-expose-headers"), Some("etag,x-request-id"));
    let response = client.post("/told").origin("https://app.shop.example").send().await;
    assert_eq!(response.header("access-control-expose-headers"), Some("etag,x-total"));
    for path in ["/traced", "/told"] {
        let response = preflight(&client, path, "https://evil.example", "POST").await;
        assert_eq!(response.status(), 403, "{path}");
    }
}

#[tokio::test]
async fn a_group_is_nearer_than_the_app() {
    const PARTNERS: CorsPolicy =
        CorsPolicy::origins(&["https://a.partner.example"]).headers(&["x-partner"]).build();
    let group = Group::new().policies(Policies::new().cors(PARTNERS)).routes(routes![traced]);
    let client = app().policies(Policies::new().cors(SHOP)).group("/partners", group).test();
    let granted = preflight(&client, "/partners/traced", "https://a.partner.example", "GET").await;
    let names = granted.header("access-control-allow-headers");
    assert_eq!(names, Some("baggage,traceparent,x-partner"));
    assert_eq!(granted.header("access-control-allow-credentials"), None);
    let refused = preflight(&client, "/partners/traced", "https://app.shop.example", "GET").await;
    assert_eq!(refused.status(), 403);
}

/// The manifest contains the resulting policy, as if it were stated at the route.
#[test]
fn the_manifest_has_the_policy_that_results() {
    #[get("/traced")]
    #[cors(
        origins = ["https://app.shop.example"],
        credentials,
        headers = ["x-shop", "traceparent", "baggage"],
        expose = ["etag", "x-request-id"],
        max_age = 600
    )]
    #[auth(public)]
    async fn whole() {}

    let cors = |manifest: Manifest| {
        let routes = manifest.normal().routes.into_iter();
        routes.filter(|route| route.path == "/traced").find_map(|route| route.cors)
    };
    let extended =
        cors(app().policies(Policies::new().cors(SHOP)).routes(routes![traced]).manifest());
    let written = cors(app().routes(routes![whole]).manifest());
    assert!(written.is_some());
    assert_eq!(extended, written);
}

#[test]
fn an_extension_needs_a_policy() {
    for app in [
        app().routes(routes![traced]),
        app().policies(Policies::new().cors(SHOP)).group(
            "/private",
            Group::new().policies(Policies::new().no_cors()).routes(routes![traced]),
        ),
    ] {
        let error = app.check().expect_err("nothing to extend");
        assert_eq!(codes(&error), ["cors.extension-of-nothing"]);
    }
}
