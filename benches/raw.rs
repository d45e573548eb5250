//! The floor for a route with every policy on: a server written by hand over hyper, which sends
//! the headers that the route `/policies` of `peer` sends, and decides nothing but the origin.
//!
//! `raw PORT [--threads N]`

use std::{
    convert::Infallible,
    future::{Ready, ready},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, header};
use http_body_util::Full;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

static ORIGINS: [HeaderValue; 3] = [
    HeaderValue::from_static("https://app.example.com"),
    HeaderValue::from_static("https://admin.example.com"),
    HeaderValue::from_static("https://shop.example.org"),
];

const HEADERS: [(HeaderName, HeaderValue); 9] = [
    (header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
    (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60")),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    ),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (
        HeaderName::from_static("ratelimit-policy"),
        HeaderValue::from_static("\"default\";q=4000000000;w=1"),
    ),
    (
        HeaderName::from_static("ratelimit"),
        HeaderValue::from_static("\"default\";r=3999999999;t=1"),
    ),
    (header::VARY, HeaderValue::from_static("origin")),
];

fn answer(request: &Request<Incoming>) -> Response<Full<Bytes>> {
    if request.uri().path() != "/policies" {
        // Where the rig logs in before it measures.
        let mut response = Response::new(Full::default());
        response.headers_mut().insert(header::SET_COOKIE, HeaderValue::from_static("sid=none"));
        return response;
    }
    let mut headers = HeaderMap::with_capacity(16);
    for (name, value) in &HEADERS {
        headers.insert(name.clone(), value.clone());
    }
    let origin = request.headers().get(header::ORIGIN);
    if let Some(origin) = origin.and_then(|origin| ORIGINS.iter().find(|one| *one == origin)) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        let (allowed, exposed) =
            (HeaderValue::from_static("true"), HeaderValue::from_static("x-request-id"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, allowed);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello, World!")));
    *response.headers_mut() = headers;
    response
}

#[expect(clippy::needless_pass_by_value, reason = "hyper gives requests away")]
fn service(request: Request<Incoming>) -> Ready<Result<Response<Full<Bytes>>, Infallible>> {
    ready(Ok(answer(&request)))
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let port = arguments.first().map_or("8080", String::as_str);
    let threads = arguments.iter().skip_while(|argument| *argument != "--threads").nth(1);
    let threads = threads.and_then(|threads| threads.parse().ok()).unwrap_or(1);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()?
        .block_on(async {
            let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
            loop {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .timer(TokioTimer::new())
                        .serve_connection(TokioIo::new(stream), service_fn(service)),
                );
            }
        })
}
