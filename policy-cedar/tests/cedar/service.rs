//! What callers get of a service whose rules ask Cedar.

use policy_tests::{
    http::{RawResponse, Running, request},
    log::Log,
};

use super::*;

async fn send(server: &Running, what: &str, caller: &str) -> RawResponse {
    server.response(request(what, &[&format!("x-caller: {caller}")])).await
}

#[tokio::test]
async fn policies_decide_where_the_rest_of_a_rule_does_not() {
    let server = Running::start(app(POLICIES)).await;
    for (caller, view, edit, edit_closed) in [
        ("ada", 200, 200, 200),
        ("rita", 200, 403, 403),
        ("say \"sam\"", 200, 403, 403),
        ("bob;company=acme", 200, 403, 403),
        ("bob;company=acme;role=lead", 200, 200, 403),
        ("bob;company=acme;role=leader", 200, 403, 403),
        ("bob;scope=orders:all", 200, 200, 403),
        ("bob;company=globex;role=lead", 404, 404, 404),
        ("bob;role=lead", 404, 404, 404),
        ("ADA", 404, 404, 404),
        ("", 404, 404, 404),
    ] {
        for (what, status) in
            [("GET /orders/1", view), ("PUT /orders/1", edit), ("PUT /orders/2", edit_closed)]
        {
            let response = send(&server, what, caller).await;
            assert_eq!(response.status, status, "{what} {caller} {response:?}");
        }
    }
    let anonymous = server.response(request("GET /orders/1", &[])).await;
    assert_eq!(anonymous.problem(), (404, "object.not-found".to_owned()));
}

#[tokio::test]
async fn what_a_stranger_gets_is_what_everybody_gets_of_nothing() {
    let server = Running::start(app(POLICIES)).await;
    let [strangers, missing] = ["PUT /orders/1", "PUT /orders/100"];
    let [strangers, missing] =
        [send(&server, strangers, "eve").await, send(&server, missing, "eve").await];
    assert_eq!(strangers.problem(), (404, "object.not-found".to_owned()));
    assert_eq!((strangers.lines(), strangers.text()), (missing.lines(), missing.text()));
}

/// Strict validation leaves sums that are too large. Cedar itself would leave out the policy and permit.
#[tokio::test]
async fn a_policy_that_fails_permits_nothing() {
    let policies = r"
        permit (principal, action, resource);
        forbid (principal, action, resource)
        when { resource.is_closed && 9223372036854775807 + 1 > 0 };
    ";
    let (log, _logged) = Log::start("policy_server");
    let server = Running::start(app(policies)).await;
    assert_eq!(send(&server, "GET /orders/1", "eve").await.status, 200);
    let failed = send(&server, "GET /orders/2", "eve").await;
    assert_eq!(failed.problem(), (503, "object.engine-unavailable".to_owned()));
    let logged = log.with_code("object.engine-failed");
    assert!(logged.len() == 1 && logged[0].contains("overflow"), "{logged:?}");
}
