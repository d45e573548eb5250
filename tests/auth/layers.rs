//! Layers around an app cannot write credentials.

use policy_server::{
    Request,
    http::{HeaderMap, Uri, header},
};
use policy_tests::{
    caller_scheme::CallerScheme,
    handlers::{ticket, token},
};
use tower::{Layer as _, util::MapRequestLayer};

use super::*;

#[get("/events")]
#[auth(ticket)]
async fn events(me: Principal) -> String {
    me.subject().to_owned()
}

#[post("/issue")]
#[auth(session)]
async fn issue(tokens: Tokens, me: Principal) -> Result<String, CredentialError> {
    Ok(tokens.issue(&Identity::new(me.subject()))?.access_token)
}

#[get("/key")]
#[auth(scheme = CallerScheme)]
async fn key(me: Principal, headers: HeaderMap) -> String {
    format!("{} {:?}", me.subject(), headers.get("x-caller"))
}

fn all() -> Vec<Route<All>> {
    routes![token, events, ticket, issue, key]
}

/// The fields that the layer copies, from those that any page may set.
const COPIED: [(&str, &str); 3] = [
    ("x-tenant-token", "authorization"),
    ("x-tenant-cookie", "cookie"),
    ("x-tenant-key", "x-caller"),
];

fn copying(mut request: Request) -> Request {
    for (from, to) in COPIED {
        if let Some(value) = request.headers_mut().remove(from) {
            request.headers_mut().insert(to, value);
        }
    }
    if let Some(query) = request.headers_mut().remove("x-tenant-query") {
        let target = format!("{}?{}", request.uri().path(), query.to_str().unwrap());
        *request.uri_mut() = target.parse::<Uri>().unwrap();
    }
    request
}

#[tokio::test]
async fn a_layer_cannot_write_credentials() {
    let change = |app: App<All>| app.scheme(CallerScheme).layer(MapRequestLayer::new(copying));
    let scenario = Scenario::with(all(), change).await;
    let ada = scenario.login("ada").await;
    let token = format!("Bearer {}", ada.post("/issue").send().await.text());
    let ticket = ada.post("/ticket").send().await.text();
    let query = format!("ticket={ticket}");
    let rows = [
        ("/token", "x-tenant-token", token.as_str()),
        ("/me", "x-tenant-cookie", ada.cookie.as_str()),
        ("/events", "x-tenant-query", query.as_str()),
        ("/key", "x-tenant-key", "partner"),
    ];
    for (path, field, value) in rows {
        let response = scenario.client.get(path).header(field, value).send().await;
        assert_problem(&response, 401, "auth.credentials-missing");
        // A valid one is not replaced either.
        let response = ada.get(path).header("authorization", &token).header(field, value).send();
        let response = response.await;
        let is_ada = ["/token", "/me"].contains(&path);
        assert_eq!(response.text() == "ada", is_ada, "{path}: {response:?}");
    }
    // What clients send themselves is taken.
    let sent = scenario.client.get("/token").header("authorization", &token).send().await;
    assert_eq!(sent.text(), "ada");
    let sent = scenario.client.get(&format!("/events?{query}")).send().await;
    assert_eq!(sent.text(), "ada");
    let sent = scenario.client.get("/key").header("x-caller", "partner").send().await;
    assert_eq!(sent.text(), "partner Some(\"partner\")");
}

/// Handlers see what a layer has written, except for credentials.
#[tokio::test]
async fn a_layer_cannot_remove_credentials_either() {
    let change = |app: App<All>| {
        app.scheme(CallerScheme).layer(MapRequestLayer::new(|mut request: Request| {
            for name in [header::COOKIE, header::AUTHORIZATION] {
                request.headers_mut().remove(name);
            }
            request.headers_mut().insert("x-caller", "of the layer".parse().unwrap());
            request
        }))
    };
    let scenario = Scenario::with(all(), change).await;
    let ada = scenario.login("ada").await;
    assert_eq!(ada.get("/me").send().await.text(), "ada");
    let sent = scenario.client.get("/key").header("x-caller", "partner").send().await;
    assert_eq!(sent.text(), "partner Some(\"of the layer\")");
}

#[tokio::test]
async fn a_request_that_a_layer_made_has_no_credentials() {
    let scenario = Scenario::with(all(), |app| {
        app.scheme(CallerScheme).layer(MapRequestLayer::new(|request: Request| {
            let (sent, body) = request.into_parts();
            let mut request = Request::new(body);
            *request.uri_mut() = sent.uri;
            *request.headers_mut() = sent.headers;
            request
        }))
    });
    let scenario = scenario.await;
    for path in ["/me", "/token", "/key"] {
        let sent = scenario
            .client
            .get(path)
            .header("cookie", "__Host-sid=x")
            .header("x-caller", "partner");
        let sent = sent.header("authorization", "Bearer x").send().await;
        assert_problem(&sent, 401, "auth.credentials-missing");
    }
}

/// The client of an app inside another one is the service around it.
#[tokio::test]
async fn an_app_inside_another_one_reads_no_credential_that_was_removed_before_it() {
    let inner = App::new(()).public_origin(OWN).scheme(CallerScheme).routes(routes![key]);
    let inner = inner.open().await.expect("an app");
    let removing = MapRequestLayer::new(|mut request: Request| {
        request.headers_mut().remove("x-caller");
        request
    });
    let mount = Mount::new(removing.layer(inner)).strip_prefix().public();
    let change = |app: App<All>| {
        app.mount("/in", mount).layer(MapRequestLayer::new(|request: Request| request))
    };
    let scenario = Scenario::with(vec![], change).await;
    let response = scenario.client.get("/in/key").header("x-caller", "partner").send().await;
    assert_problem(&response, 401, "auth.credentials-missing");
}
