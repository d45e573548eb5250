//! A minimal server around the engine: the gates in the order that [`policy_core::head`] names, and
//! a router of one path.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header::ALLOW};
use policy_core::{
    Refusal,
    cors::{Cors, OriginDecision, remove_cors},
    head::{Head, Single},
};

use crate::exchange::{App, Header, Request, Scenario, TestResponse};

/// Responds to a request, without state between calls.
pub fn respond(scenario: &Scenario, request: &Request) -> TestResponse {
    let mut http_request = http::Request::new(());
    *http_request.method_mut() = request.method.clone();
    *http_request.uri_mut() = request.path.parse().expect("a path");
    *http_request.headers_mut() = request.headers.clone();
    let head = Head::read(&http_request);
    let policy = scenario.policy_at(&request.path).map(|policy| {
        Cors::from_config("the route", &policy.config()).expect("a policy without errors")
    });
    let is_there = request.path == scenario.app.path;
    let is_served = match head.request_method {
        Single::One(method) if is_there => {
            Method::from_bytes(method.as_bytes()).is_ok_and(|method| scenario.app.serves(&method))
        }
        _ => false,
    };
    let unserved = policy
        .as_ref()
        .filter(|_| head.is_preflight() && !is_served)
        .and_then(|cors| cors.unserved_preflight(head.request_method));
    if head.is_preflight() && (is_there || unserved.is_some()) {
        let answered = match &policy {
            Some(cors) => {
                let plan =
                    unserved.unwrap_or_else(|| cors.preflight(&scenario.app.served_methods(), &[]));
                plan.answer(cors, head.origin, head.request_method)
            }
            None => Err(Refusal::PreflightOrigin),
        };
        let (status, headers) = answered.unwrap_or_else(|refusal| {
            let mut headers = HeaderMap::new();
            if let Some(cors) = &policy {
                cors.apply(OriginDecision::Refused, &mut headers);
            }
            (StatusCode::from_u16(refusal.status()).expect("a status"), headers)
        });
        return response(status, headers, 0);
    }
    let (status, mut headers, calls) = route(&scenario.app, request);
    match &policy {
        Some(cors) => cors.apply(cors.decide_origin(head.origin), &mut headers),
        None => remove_cors(&mut headers),
    }
    response(status, headers, calls)
}

fn route(app: &App, request: &Request) -> (StatusCode, HeaderMap, usize) {
    let mut headers = HeaderMap::new();
    if request.path != app.path {
        return (StatusCode::NOT_FOUND, headers, 0);
    }
    if !app.serves(&request.method) {
        let allow = app.methods.join(", ");
        headers.insert(ALLOW, HeaderValue::from_str(&allow).expect("a list of tokens"));
        let asks = request.method == Method::OPTIONS;
        let status = if asks { StatusCode::NO_CONTENT } else { StatusCode::METHOD_NOT_ALLOWED };
        return (status, headers, 0);
    }
    if app.panic {
        return (StatusCode::INTERNAL_SERVER_ERROR, headers, 1);
    }
    if app.auth.is_some() && !request.headers.contains_key("authorization") {
        return (StatusCode::UNAUTHORIZED, headers, 1);
    }
    for (name, value) in Header::lines(&app.headers) {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a header name");
        headers.append(name, HeaderValue::from_str(value).expect("a header value"));
    }
    (StatusCode::from_u16(app.status).expect("a status"), headers, 1)
}

fn response(status: StatusCode, headers: HeaderMap, handler_calls: usize) -> TestResponse {
    TestResponse { status: status.as_u16(), headers, body: Vec::new(), handler_calls }
}
