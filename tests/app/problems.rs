//! `derive(Problems)`: what clients get for each variant, and what the type says of itself.

use std::io;

use policy_server::{DeclaredProblem, Refusal};
use policy_tests::log::Log;
use serde_json::json;

use super::*;

const SECRET: &str = "password hunter2 in /srv/shop/db.rs:17";

#[derive(Problems)]
enum PaymentError {
    #[problem(402, code = "orders.unpaid", title = "The order is not paid")]
    Unpaid,
    #[problem(503)]
    Unavailable,
    #[problem(internal, from)]
    Storage(io::Error),
}

/// The text of this comment is for developers.
#[derive(Problems)]
enum OrderError {
    /// So is this one.
    #[problem(404)]
    Missing,
    #[problem(409, code = "orders.closed", title = "The order is closed")]
    Closed {
        #[problem(member)]
        order: u64,
        #[problem(member = "by")]
        who: Option<&'static str>,
        #[expect(dead_code, reason = "no client sees it, which is tested")]
        reason: &'static str,
    },
    #[problem(409, code = "orders.held")]
    Held(
        #[expect(dead_code, reason = "as above")] &'static str,
        #[problem(member = "holders")] Vec<u8>,
    ),
    #[problem(internal, from)]
    Storage(io::Error),
    #[problem(transparent, from)]
    Payment(PaymentError),
    #[problem(transparent, from)]
    Invalid(Invalid),
    #[problem(503)]
    Unavailable,
}

fn paid(id: u64) -> Result<(), PaymentError> {
    match id {
        5 => Err(PaymentError::Unpaid),
        6 => Err(io::Error::other(SECRET))?,
        7 => Err(PaymentError::Unavailable),
        _ => Ok(()),
    }
}

fn order(id: u64) -> Result<String, OrderError> {
    match id {
        0 => Err(OrderError::Missing),
        1 => Err(OrderError::Closed { order: id, who: None, reason: SECRET }),
        2 => Err(OrderError::Held(SECRET, vec![1, 2])),
        3 => Err(io::Error::other(SECRET))?,
        4 => Err(OrderError::Unavailable),
        8 => Err(Invalid::new().fault("/amount", "must be at least 1"))?,
        _ => {
            paid(id)?;
            Ok("an order".to_owned())
        }
    }
}

#[get("/own/{id}")]
#[auth(public)]
async fn own(id: u64) -> Result<String, OrderError> {
    order(id)
}

#[get("/problem/{id}")]
#[auth(public)]
async fn problem(id: u64) -> Result<(StatusCode, String), Problem> {
    Ok((StatusCode::ACCEPTED, order(id)?))
}

fn app() -> App<()> {
    App::new(()).routes(routes![own, problem])
}

#[tokio::test]
async fn every_variant_is_sent_as_the_problem_that_it_states() {
    let server = Running::start(app()).await;
    let of = |title: &str, status: u16, more: serde_json::Value| {
        let mut body = json!({"type": "about:blank", "title": title, "status": status});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let unpaid = of("The order is not paid", 402, json!({"code": "orders.unpaid"}));
    let failed = of(Refusal::Internal.title(), 500, json!({"code": "handler.failed"}));
    let unavailable = of("Service Unavailable", 503, json!({}));
    let expected = [
        of("Not Found", 404, json!({})),
        of("The order is closed", 409, json!({"code": "orders.closed", "order": 1, "by": null})),
        of("Conflict", 409, json!({"code": "orders.held", "holders": [1, 2]})),
        failed.clone(),
        unavailable.clone(),
        unpaid,
        failed,
        unavailable,
        of(
            Refusal::RequestInvalid.title(),
            422,
            json!({"code": "request.invalid", "errors": [
                {"pointer": "/amount", "detail": "must be at least 1"},
            ]}),
        ),
    ];
    for path in ["/own", "/problem"] {
        for (id, expected) in expected.iter().enumerate() {
            let response = server.response(request(&format!("GET {path}/{id}"), &[])).await;
            assert_eq!(u64::from(response.status), expected["status"], "{path}/{id}");
            let body: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
            assert_eq!(body, *expected, "{path}/{id}");
            assert_eq!(response.header("content-type"), Some("application/problem+json"));
        }
        let response = server.response(request(&format!("GET {path}/9"), &[])).await;
        assert_eq!(response.text(), "an order");
    }
}

#[tokio::test]
async fn internal_errors_are_logged() {
    let (log, _guard) = Log::start("policy_server");
    let server = Running::start(app()).await;
    for (id, logged) in [(0, 0), (1, 0), (3, 1), (6, 2)] {
        server.response(request(&format!("GET /own/{id}"), &[])).await;
        let lines = log.with_code("handler.error");
        assert_eq!(lines.len(), logged, "{lines:?}");
        assert!(lines.iter().all(|line| line.contains(SECRET)), "{lines:?}");
    }
}

#[test]
fn a_type_lists_its_problems_and_those_of_its_errors_once() {
    let of = |status, code, title| DeclaredProblem::new(status, code, title);
    let payment = [
        of(402, Some("orders.unpaid"), Some("The order is not paid")),
        of(503, None, None),
        DeclaredProblem::from_refusal(Refusal::Internal),
    ];
    assert_eq!(PaymentError::PROBLEMS, payment);
    let order = [
        of(404, None, None),
        of(409, Some("orders.closed"), Some("The order is closed")),
        of(409, Some("orders.held"), None),
        DeclaredProblem::from_refusal(Refusal::Internal),
        of(503, None, None),
        payment[0],
        DeclaredProblem::from_refusal(Refusal::RequestInvalid),
    ];
    assert_eq!(OrderError::PROBLEMS, order);
}
