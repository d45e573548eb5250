use std::convert::Infallible;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use policy_core::{
    Rule,
    cors::{CorsConfig, CorsPolicy, PolicyError, SharedOrigins},
};
use tower::{ServiceExt, service_fn};

use super::*;
use crate::{Error, Policies};

const POLICY: CorsPolicy =
    CorsPolicy::origins(&["https://a.test"]).credentials().methods(&["PUT"]).build();

async fn text(response: Response) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test]
async fn errors_and_panics_of_the_service_carry_the_policy() {
    let layer = PolicyLayer::new(POLICY).unwrap();
    let inner = service_fn(async |request: Request<Body>| match request.uri().path() {
        "/panic" => panic!("on purpose"),
        _ => Err::<http::Response<Body>, _>("broken"),
    });
    for path in ["/", "/panic"] {
        let request = Request::builder().uri(path).header("origin", "https://a.test");
        let service = layer.layer(inner);
        let response = service.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 500);
        assert_eq!(response.headers()["access-control-allow-origin"], "https://a.test");
    }
}

/// The service is asked without the headers of CORS and of the body, and believed where it says what
/// it serves.
#[tokio::test]
async fn a_preflight_allows_the_methods_that_the_service_lists() {
    const ANY_METHOD: CorsPolicy = CorsPolicy::origins(&["https://a.test"]).credentials().build();
    let layer = PolicyLayer::new(ANY_METHOD).unwrap();
    let many = vec!["M"; MOST_METHODS].join(",") + ",PUT";
    for (status, allow, expected) in [
        (405, &["GET, HEAD,put ,DELETE"][..], "DELETE,GET,HEAD,put"),
        (204, &["OPTIONS, PUT", "PATCH"], "PATCH,PUT"),
        (405, &["OPTIONS"], "GET,HEAD,POST"),
        (405, &[], "GET,HEAD,POST"),
        (200, &["G\u{e9}T, (,"], "GET,HEAD,POST"),
        (401, &["PUT"], "GET,HEAD,POST"),
        (500, &["PUT"], "GET,HEAD,POST"),
        (405, &[&many], "M"),
    ] {
        let allow: Vec<_> =
            allow.iter().map(|line| http::HeaderValue::from_str(line).unwrap()).collect();
        let lines = allow.clone();
        let inner = service_fn(move |request: Request<Body>| {
            assert_eq!(request.method(), Method::OPTIONS);
            assert!(request.headers().is_empty(), "{request:?}");
            let mut response = http::Response::new(Body::from("secret"));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            for line in &lines {
                response.headers_mut().append(ALLOW, line.clone());
            }
            std::future::ready(Ok::<_, Infallible>(response))
        });
        let request = Request::builder()
            .method(Method::OPTIONS)
            .header("origin", "https://a.test")
            .header("access-control-request-method", "PUT")
            .header("access-control-request-headers", "x-a")
            .header("content-length", "4")
            .header("content-type", "text/plain")
            .header("content-digest", "sha-256=:AAAA:")
            .header("expect", "100-continue");
        let response = layer.layer(inner).oneshot(request.body(Body::from("body")).unwrap());
        let response = response.await.unwrap();
        assert_eq!(response.status(), 204, "{allow:?}");
        let methods = &response.headers()["access-control-allow-methods"];
        assert_eq!(methods, expected, "{status} {allow:?}");
        assert_eq!(text(response).await, "");
    }
}

#[tokio::test]
async fn origins_can_be_replaced_while_it_serves() {
    const PARTNERS: CorsPolicy = CorsPolicy::origins_at_run_time("partners").build();
    let partners = SharedOrigins::new();
    let with_list = |policy: CorsPolicy| {
        let policies = Policies::new().cors(policy);
        PolicyLayer::builder().policies(policies).origins("partners", &partners).build()
    };
    let layer = with_list(PARTNERS).unwrap();
    // The body of the service is of another type.
    let inner = service_fn(async |_request: Request<Body>| {
        Ok::<_, Infallible>(http::Response::new(Full::new(Bytes::new())))
    });
    for (list, granted) in [(&["https://a.test"][..], true), (&[], false)] {
        partners.replace(list).unwrap();
        let request = Request::builder().header("origin", "https://a.test");
        let response = layer.layer(inner).oneshot(request.body(Body::empty()).unwrap());
        let response = response.await.unwrap();
        assert_eq!(response.headers().contains_key("access-control-allow-origin"), granted);
    }
    let missing = PolicyLayer::new(PARTNERS).unwrap_err();
    assert_eq!(missing.errors()[0].rule(), Rule::OriginListMissing);
    const BY_TENANT: CorsPolicy = CorsPolicy::origins_at_run_time("partners")
        .within(&["https://*.shop.example"])
        .by("tenant")
        .build();
    let Err(Error::Start(selected)) = with_list(BY_TENANT) else { panic!() };
    assert_eq!(selected[0].rule(), Rule::OriginListBy);
}

#[test]
fn a_configuration_is_checked_whole() {
    let mut config = CorsConfig::new(["*"]);
    config.headers = vec!["host".to_owned()];
    config.credentials = true;
    let errors = PolicyLayer::new(config).unwrap_err();
    let rules: Vec<_> = errors.errors().iter().map(PolicyError::rule).collect();
    assert_eq!(rules, [Rule::AnyOriginWithCredentials, Rule::HeaderForbidden]);
}
