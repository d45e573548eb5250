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
use http_body_util::BodyExt;
use policy_server::{App as Server, Body, CsrfPolicy, Mount, Policies};
use tokio::runtime::{Builder, Runtime};
use tower::{ServiceExt, service_fn};

use policy_core_tests::exchange::{App, Header, Request, Scenario, TestResponse};

thread_local! {
    static RUNTIME: Runtime =
        Builder::new_current_thread().enable_all().build().expect("a runtime");
}

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
    let service = server.into_service();
    let answered = service.oneshot(build_request(request));
    let (parts, body) = RUNTIME.with(|runtime| {
        runtime.block_on(async {
            let (parts, body) = answered.await.unwrap_or_else(|never| match never {}).into_parts();
            (parts, body.collect().await.expect("a body"))
        })
    });
    TestResponse {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: body.to_bytes().to_vec(),
        handler_calls: calls.load(Ordering::Relaxed),
    }
}

fn build_request(request: &Request) -> http::Request<Body> {
    let mut sent = http::Request::new(Body::empty());
    *sent.method_mut() = request.method.clone();
    *sent.uri_mut() = request.path.parse().expect("a path");
    *sent.headers_mut() = request.headers.clone();
    sent.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
    sent
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
