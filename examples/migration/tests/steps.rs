//! The same requests to all five steps: what clients see stays, except for what is stated here.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use migration::{notes::Notes, step1_axum, step2_layer, step3_mounted, step4_moved, step5_policy};
use policy_server::testing::{TestClient, TestRequest, TestResponse};

const PAGE: &str = "https://app.example";
const EVIL: &str = "https://evil.example";

/// The services, without notes, in order.
fn steps() -> [TestClient; 5] {
    let notes = Notes::default;
    [
        TestClient::new(step1_axum::service(notes()), "localhost"),
        TestClient::new(step2_layer::service(notes()).unwrap(), "localhost"),
        step3_mounted::app(notes()).test(),
        step4_moved::app(notes()).test(),
        step5_policy::app(notes()).test(),
    ]
}

fn post(client: &TestClient, body: &str) -> TestRequest {
    let request = client.post("/admin/notes").header("content-type", "application/json");
    request.header("content-length", body.len().to_string()).body(body.to_owned())
}

fn with_key(request: TestRequest) -> TestRequest {
    request.header("x-api-key", "ada's key")
}

async fn preflight(client: &TestClient, path: &str, origin: &str, method: &str) -> TestResponse {
    let request = client.options(path).origin(origin);
    request.header("access-control-request-method", method).send().await
}

fn code(response: &TestResponse) -> Option<String> {
    let is_problem = response.header("content-type") == Some("application/problem+json");
    let problem = is_problem.then(|| response.json::<serde_json::Value>())?;
    Some(problem.get("code")?.as_str()?.to_owned())
}

#[tokio::test]
async fn every_step_serves_the_same() {
    for (step, client) in (1..).zip(steps()) {
        let long = format!("{{\"text\":\"{}\"}}", "a".repeat(2048));
        let milk = "{\"text\":\"milk\"}";
        for (request, status, text) in [
            (client.get("/notes"), 200, Some("[]")),
            (with_key(post(&client, milk)), 201, Some("0")),
            (client.get("/notes"), 200, Some("[{\"text\":\"milk\"}]")),
            (with_key(client.get("/admin/me")), 200, Some("ada")),
            // Refused for every caller.
            (post(&client, milk), 401, None),
            (post(&client, milk).header("x-api-key", "a guess"), 401, None),
            (client.get("/admin/me"), 401, None),
            (with_key(post(&client, "{")), 400, None),
            (with_key(post(&client, "{}")), 422, None),
            (with_key(post(&client, &long)), 413, None),
            (with_key(client.get("/nowhere")), 404, None),
            (with_key(client.put("/admin/notes")), 405, None),
            (with_key(client.delete("/admin/notes/7")), 404, None),
            // Ada's note.
            (client.delete("/admin/notes/0").header("x-api-key", "bob's key"), 403, None),
            (client.get("/notes"), 200, Some("[{\"text\":\"milk\"}]")),
            (with_key(client.delete("/admin/notes/0")), 204, Some("")),
            (with_key(client.delete("/admin/notes/0")), 404, None),
            (client.get("/notes"), 200, Some("[]")),
        ] {
            let response = request.origin(PAGE).send().await;
            assert_eq!(response.status(), status, "step {step}: {response:?}");
            if let Some(text) = text {
                assert_eq!(response.text(), text, "step {step}");
            }
            let granted = response.header("access-control-allow-origin");
            assert_eq!(granted, Some(PAGE), "step {step}: {response:?}");
            let sniffing = response.header("x-content-type-options");
            assert_eq!(sniffing, Some("nosniff"), "step {step}: {response:?}");
        }
        let evil = client.get("/notes").origin(EVIL).send().await;
        assert_ne!(evil.header("access-control-allow-origin"), Some(EVIL), "step {step}");
    }
}

/// A page may do the same in each step; a preflight says it more exactly.
#[tokio::test]
async fn preflights_list_the_methods_of_a_path() {
    for (client, (first, second)) in steps().iter().zip([
        // The list of `CorsLayer`, for every path.
        ("GET,POST,DELETE", "GET,POST,DELETE"),
        // The methods that the router serves there.
        ("POST", "DELETE"),
        // The methods that the mount takes.
        ("DELETE,GET,HEAD,POST", "DELETE,GET,HEAD,POST"),
        ("DELETE,GET,HEAD,POST", "DELETE,GET,HEAD,POST"),
        ("POST", "DELETE"),
    ]) {
        for (path, method, methods) in
            [("/admin/notes", "POST", first), ("/admin/notes/0", "DELETE", second)]
        {
            let response = preflight(client, path, PAGE, method).await;
            assert!(response.status().is_success(), "{response:?}");
            assert_eq!(response.header("access-control-allow-origin"), Some(PAGE));
            assert_eq!(response.header("access-control-allow-methods"), Some(methods));
            let headers = response.header("access-control-allow-headers").unwrap();
            assert!(headers.contains("x-api-key"), "{headers}");
        }
    }
}

/// What the steps do not have in common: each refusal, and its code from the step on that has one.
#[tokio::test]
async fn refusals_get_codes() {
    for (step, client) in (1..).zip(steps()) {
        let evil = preflight(&client, "/notes", EVIL, "GET").await;
        assert_ne!(evil.header("access-control-allow-origin"), Some(EVIL), "step {step}");
        let without_key = client.get("/admin/me").send().await;
        let missing = client.get("/nowhere").send().await;
        let long = with_key(post(&client, &"a".repeat(2048))).send().await;
        let malformed = with_key(post(&client, "{")).send().await;
        assert_eq!(with_key(post(&client, "{\"text\":\"milk\"}")).send().await.status(), 201);
        let of_ada = client.delete("/admin/notes/0").header("x-api-key", "bob's key").send().await;
        // Another site, whose name resolves to this host.
        let elsewhere = client.get("/notes").header("host", "evil.example").send().await;
        for (name, since, response) in [
            ("cors.origin-not-granted", 2, evil),
            ("request.body-too-large", 2, long),
            ("auth.credentials-missing", 3, without_key),
            ("route.not-found", 3, missing),
            ("origin.host-not-loopback", 3, elsewhere),
            ("request.json-malformed", 5, malformed),
            ("object.denied", 5, of_ada),
        ] {
            let expected = (step >= since).then(|| name.to_owned());
            assert_eq!(code(&response), expected, "step {step}: {response:?}");
        }
    }
}
