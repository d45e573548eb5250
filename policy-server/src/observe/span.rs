//! The span of one request, by the semantic conventions of OpenTelemetry.

use axum_core::response::Response;
use policy_core::head::Head;
use tracing::{Span, field::Empty, level_filters::LevelFilter};

use crate::{
    base::{
        event::conventions::{OTHER_METHOD, error_type, method, protocol},
        log::cut,
    },
    client::Client,
    observe::{request_id::RequestId, traces::Tracing},
};

/// The span of one request. Without a subscriber it costs one comparison.
pub(crate) fn begin(
    head: &Head<'_>,
    client: &Client,
    id: Option<&RequestId>,
    tracing: &Tracing,
) -> Span {
    if LevelFilter::current() < LevelFilter::INFO {
        return Span::none();
    }
    let (method, original) = method(head.method);
    let query = head.uri.query().and_then(|query| tracing.query(query));
    tracing::info_span!(
        "request",
        otel.name = name(method),
        otel.kind = "server",
        http.request.method = method,
        http.request.method_original = original,
        url.scheme = if head.is_secure { "https" } else { "http" },
        url.path = %cut(head.path).escape_debug(),
        url.query = query.as_deref().map(|query| tracing::field::display(cut(query).escape_debug())),
        network.protocol.version = protocol(head.version),
        client.address = client.address().map(tracing::field::display),
        policy.request_id = id.map(RequestId::as_str),
        policy.code = Empty,
        http.route = Empty,
        http.response.status_code = Empty,
        "error.type" = Empty,
        otel.status_code = Empty,
    )
}

/// Records the route of the request, by which its span is named.
pub(crate) fn routed(span: &Span, head: &Head<'_>, route: &str) {
    if !span.is_disabled() {
        span.record("otel.name", format!("{} {route}", name(method(head.method).0)));
        span.record("http.route", route);
    }
}

/// Records the response to the request. That of a client's error leaves the status unset.
pub(crate) fn responded(span: &Span, response: &Response) {
    if span.is_disabled() {
        return;
    }
    span.record("http.response.status_code", response.status().as_u16());
    if let Some(error) = error_type(response) {
        span.record("error.type", &*error);
        span.record("otel.status_code", "ERROR");
    }
}

/// How the name of a span begins.
fn name(method: &str) -> &str {
    if method == OTHER_METHOD { "HTTP" } else { method }
}
