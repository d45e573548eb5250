//! Where Prometheus reads the metrics.

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderValue, Method, Request,
    header::{ALLOW, CONTENT_TYPE},
};
use policy_core::{
    Refusal,
    cache::forbid_storing,
    head::{Head, OwnOrigin},
};

use super::{Metrics, exposition::MEDIA_TYPE};
use crate::{
    base::problem::{Problem, end_connection},
    handler::service::SharedService,
};

/// The path on a separate listener.
const PATH: &str = "/metrics";

/// The text as a service.
pub(crate) fn service(metrics: &Metrics) -> SharedService {
    let metrics = metrics.clone();
    SharedService::boxed(move |_request| {
        let response = text(&metrics);
        Box::pin(async move { response })
    })
}

/// A separate listener.
#[derive(Debug)]
pub(crate) struct Endpoint {
    metrics: Metrics,
    /// Whether it listens on loopback.
    is_loopback: bool,
}

impl Endpoint {
    pub(crate) fn new(metrics: &Metrics, is_loopback: bool) -> Self {
        Self { metrics: metrics.clone(), is_loopback }
    }

    pub(crate) fn response<B>(&self, request: &Request<B>) -> Response {
        let mut response = match self.admit(request) {
            Ok(()) => answer(&self.metrics, request),
            Err(refusal) => {
                let mut response = Problem::from(refusal).into_response();
                end_connection(&mut response, request.version());
                response
            }
        };
        forbid_storing(response.headers_mut());
        response
    }

    /// Refuses what two parsers could read differently and, on loopback, other hosts: to a page of
    /// a name that resolves to this machine (DNS rebinding), the response would be of its own
    /// origin. Elsewhere Prometheus may call an instance by any name.
    fn admit<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        let mut head = Head::read(request);
        head.well_formed()?;
        if !self.is_loopback {
            return Ok(());
        }
        // A proxy may be in front of it.
        head.is_forwarded = false;
        match OwnOrigin::Development.admit(&head) {
            // There may be a public origin, which is not that of the metrics.
            Err(Refusal::HostNotLoopback) => Err(Refusal::HostUnknown),
            admitted => admitted,
        }
    }
}

fn answer<B>(metrics: &Metrics, request: &Request<B>) -> Response {
    match *request.method() {
        _ if request.uri().path() != PATH => Problem::from(Refusal::RouteNotFound).into_response(),
        Method::GET => text(metrics),
        Method::HEAD => text(metrics).map(|_body| Body::empty()),
        _ => {
            let mut response = Problem::from(Refusal::MethodNotAllowed).into_response();
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            response
        }
    }
}

fn text(metrics: &Metrics) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE))], metrics.text()).into_response()
}
