//! Tokens of scripts.

use policy_server::testing::{TestClient, TestResponse};
use serde_json::{Value, json};

use crate::site::{Site, path, refusal, with};

/// The field with an access token.
fn bearer(tokens: &Value) -> String {
    format!("Bearer {}", tokens["access_token"].as_str().expect("a token"))
}

async fn list(client: &TestClient, tokens: &Value) -> TestResponse {
    client.get("/tasks").header("authorization", bearer(tokens)).send().await
}

async fn add(client: &TestClient, tokens: &Value) -> TestResponse {
    let post = client.post("/tasks").header("authorization", bearer(tokens));
    post.json(&json!({ "title": "by a script" })).send().await
}

pub(crate) async fn a_script_does_what_its_scopes_say_until_it_is_ended(site: &Site) {
    let lead = site.lead("nora").await;
    let member = site.member(&lead, "nils").await;
    let new = |scopes: Value| json!({ "name": "a script", "scopes": scopes });
    let by_member = member.post("/machines").json(&new(json!(["tasks:read"]))).send().await;
    assert_eq!(refusal(&by_member), with(403, "auth.rights-missing"));
    for scopes in [json!([]), json!(["tasks:everything"])] {
        assert_eq!(lead.post("/machines").json(&new(scopes)).send().await.status(), 422);
    }
    let response = lead.post("/machines").json(&new(json!(["tasks:read"]))).send().await;
    assert_eq!(response.status(), 201, "{}", response.text());
    let reads: Value = response.json();
    let writes = json!(["tasks:read", "tasks:write"]);
    let writes: Value = lead.post("/machines").json(&new(writes)).send().await.json();

    // A program: no page, no cookie, no CSRF token.
    let client = &site.client;
    assert_eq!(list(client, &reads).await.status(), 200);
    assert_eq!(add(client, &reads).await.status(), 403);
    assert_eq!(add(client, &writes).await.status(), 201);
    let tasks: Value = list(client, &reads).await.json();
    assert_eq!(tasks["tasks"][0]["author"], "a script");
    let leads = client.get("/machines").header("authorization", bearer(&writes));
    assert_eq!(leads.send().await.status(), 401, "a session does");

    // It outlives the session of the lead, gets the next token, and can be ended.
    assert_eq!(lead.post("/logout").send().await.status(), 204);
    let refresh = json!({ "refresh_token": reads["refresh_token"] });
    let next = client.post("/machines/token").json(&refresh).send().await;
    assert_eq!(next.status(), 200, "{}", next.text());
    let next: Value = next.json();
    assert_eq!(list(client, &next).await.status(), 200);
    let login = json!({ "login": "nora", "password": crate::site::PASSWORD });
    assert_eq!(lead.post("/login").json(&login).send().await.status(), 200);
    let machines: Vec<Value> = lead.get("/machines").send().await.json();
    // Both may have been made in the same millisecond.
    let reader = machines
        .iter()
        .find(|machine| machine["scopes"] == "tasks:read")
        .expect("the one that reads");
    let stranger = site.lead("nemo").await;
    assert_eq!(stranger.delete(&path("machines", reader)).send().await.status(), 404);
    assert_eq!(lead.delete(&path("machines", reader)).send().await.status(), 204);
    assert_eq!(list(client, &next).await.status(), 401);
    let refresh = json!({ "refresh_token": next["refresh_token"] });
    assert_eq!(client.post("/machines/token").json(&refresh).send().await.status(), 401);
    assert_eq!(list(client, &writes).await.status(), 200, "the other one goes on");
}
