//! The whole server, in-process: an app whose one handler is a `tower` service.

use std::{
    convert::Infallible,
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use http::{HeaderName, HeaderValue, Response, StatusCode, header::HOST};
use policy_server::{App as Server, Body, CsrfPolicy, Mount, Policies};
use tower::service_fn;

use policy_core_tests::exchange::{App, Header, Request, Scenario, TestResponse};

use crate::local::{Reply, build_request, send};

/// Builds the app, sends it one request, and reads the whole response.
pub(crate) fn respond(scenario: &Scenario, request: &Request) -> TestResponse {
    let calls = Arc::new(AtomicUsize::new(0));
    let (app, counted) = (scenario.app.clone(), Arc::clone(&calls));
    let service = service_fn(move |request: http::Request<Body>| {
        let (app, counted) = (app.clone(), Arc::clone(&counted));
        async move {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(handle(&app, &request))
        }
    });
    let mut mount = Mount::new(service)
        .public()
        .csrf(CsrfPolicy::Exempt("this law is about something else"))
        .methods(scenario.app.served_methods());
    if let Some(policy) = &scenario.route {
        mount = mount.policies(Policies::new().cors(policy.config()));
    }
    let mut server = Server::new(()).mount(&scenario.app.path, mount);
    if let Some(policy) = &scenario.default {
        server = server.policies(Policies::new().cors(policy.config()));
    }
    let mut sent = build_request(&request.method, &request.path, &request.headers, Body::empty());
    sent.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
    let Reply { status, headers, body } = send(&server.into_service(), sent);
    let handler_calls = calls.load(Ordering::Relaxed);
    TestResponse { status, headers, body: body.into_bytes(), handler_calls }
}

fn handle(app: &App, request: &http::Request<Body>) -> Response<Body> {
    if app.panic {
        // A panic without its message on standard error.
        resume_unwind(Box::new("the handler panics"));
    }
    let mut response = Response::new(Body::empty());
    if app.auth.is_some() && !request.headers().contains_key("authorization") {
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        return response;
    }
    *response.status_mut() = StatusCode::from_u16(app.status).expect("a status");
    for (name, value) in Header::lines(&app.headers) {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a header name");
        let value = HeaderValue::from_str(value).expect("a header value");
        response.headers_mut().append(name, value);
    }
    response
}
