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
async fn policies_come_from_configurations_too() {
    let mut config = CorsConfig::new(["https://app.example"]);
    config.credentials = true;
    let client = App::new(()).policies(Policies::new().cors(config)).routes(routes![plain]).test();
    let response = client.get("/plain").origin("https://app.example").send().await;
    assert_eq!(response.header("access-control-allow-credentials"), Some("true"));
}
