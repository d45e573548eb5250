//! Where Prometheus reads the metrics.

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderValue, Method, Request,
    header::{ALLOW, CONTENT_TYPE},
};
use policy_core::{Refusal, cache::forbid_storing};

use super::{Metrics, exposition::MEDIA_TYPE};
use crate::{base::problem::Problem, handler::service::SharedService};

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

/// The response of a separate listener.
pub(crate) fn response<B>(metrics: &Metrics, request: &Request<B>) -> Response {
    let mut response = match *request.method() {
        _ if request.uri().path() != PATH => Problem::from(Refusal::RouteNotFound).into_response(),
        Method::GET => text(metrics),
        Method::HEAD => text(metrics).map(|_body| Body::empty()),
        _ => {
            let mut response = Problem::from(Refusal::MethodNotAllowed).into_response();
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            response
        }
    };
    forbid_storing(response.headers_mut());
    response
}

fn text(metrics: &Metrics) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE))], metrics.text()).into_response()
}
