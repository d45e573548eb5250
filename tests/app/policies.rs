//! Which policy applies: the nearest.

use super::*;

#[tokio::test]
async fn policies_of_the_nearest_level_hold_alone() {
    let open =
        Group::new().policies(Policies::new().cors(EVERYBODY)).routes(routes![plain, own, closed]);
    let client = App::new(())
        .policies(Policies::new().cors(APP))
        .routes(routes![plain, own, closed])
        .group(
            "/group",
            Group::new().policies(Policies::new().cors(GROUP)).routes(routes![plain, own, closed]),
        )
        .group("/silent", Group::new().routes(routes![plain, own]))
        .group(
            "/private",
            Group::new().policies(Policies::new().no_cors()).routes(routes![plain, own]),
        )
        .group("/open", open)
        .test();
    for (path, expected) in [
        ("/plain", &["https://app.example"][..]),
        ("/own", &["https://route.example"]),
        ("/closed", &[]),
        ("/group/plain", &["https://group.example"]),
        ("/group/own", &["https://route.example"]),
        ("/group/closed", &[]),
        ("/silent/plain", &["https://app.example"]),
        ("/silent/own", &["https://route.example"]),
        ("/private/plain", &[]),
        ("/private/own", &["https://route.example"]),
        ("/open/plain", &["*"]),
        ("/open/own", &["https://route.example"]),
        ("/open/closed", &[]),
        // An unknown path below a group belongs to the app.
        ("/group/nowhere", &["https://app.example"]),
        ("/nowhere", &["https://app.example"]),
    ] {
        assert_eq!(readers(&client, path).await, expected, "{path}");
    }
}

#[tokio::test]
async fn without_a_policy_no_other_origin_reads() {
    let client = App::new(()).routes(routes![plain]).test();
    for path in ["/plain", "/nowhere"] {
        assert_eq!(readers(&client, path).await, [""; 0], "{path}");
        let response = client.get(path).origin("https://app.example").send().await;
        assert!(!varies(&response), "{path}");
    }
    let preflight = client.options("/plain").origin("https://app.example");
    let preflight = preflight.header("access-control-request-method", "PUT").send().await;
    assert_eq!((preflight.status(), varies(&preflight)), (StatusCode::FORBIDDEN, false));
}

/// Whether caches see that the response depends on the origin.
fn varies(response: &TestResponse) -> bool {
    let vary = response.header("vary").unwrap_or_default();
    vary.split(", ").any(|name| name == "origin")
}

#[tokio::test]
async fn policies_come_from_configurations_too() {
    let mut config = CorsConfig::new(["https://app.example"]);
    config.credentials = true;
    let client = App::new(()).policies(Policies::new().cors(config)).routes(routes![plain]).test();
    let response = client.get("/plain").origin("https://app.example").send().await;
    assert_eq!(response.header("access-control-allow-credentials"), Some("true"));
}

#[tokio::test]
async fn responses_vary_by_origin_unless_everybody_may_read_them() {
    let app = || App::new(()).routes(routes![plain, own]);
    for (client, path, vary) in [
        (app().policies(Policies::new().cors(APP)).test(), "/plain", true),
        (app().policies(Policies::new().cors(APP)).test(), "/nowhere", true),
        (app().policies(Policies::new().cors(EVERYBODY)).test(), "/plain", false),
        (app().policies(Policies::new().cors(EVERYBODY)).test(), "/nowhere", false),
        (app().policies(Policies::new().cors(EVERYBODY)).test(), "/own", true),
    ] {
        for method in [Method::GET, Method::HEAD, Method::POST, Method::OPTIONS] {
            for origin in [None, Some("https://app.example"), Some("https://evil.example")] {
                for asks in [false, true] {
                    let mut request = client.request(method.clone(), path);
                    if let Some(origin) = origin {
                        request = request.origin(origin);
                    }
                    if asks {
                        request = request.header("access-control-request-method", "GET");
                    }
                    let response = request.send().await;
                    assert_eq!(varies(&response), vary, "{method} {path} {origin:?}");
                }
            }
        }
    }
}
