//! The span of one request, by the semantic conventions of OpenTelemetry.

use std::borrow::Cow;

use axum_core::response::Response;
use policy_core::head::Head;
use tracing::{Span, field::Empty, level_filters::LevelFilter};

use crate::{
    base::{
        event::conventions::{error_type, method, protocol},
        log::cut,
    },
    client::Client,
    observe::{request_id::RequestId, traces::Tracing},
};

/// The span of one request. Without a subscriber it costs one comparison, and `route` is not
/// called.
#[inline(always)]
pub(crate) fn begin<'a>(
    head: &Head<'_>,
    client: &Client,
    id: Option<&RequestId>,
    tracing: &Tracing,
    route: impl FnOnce() -> Option<&'a str>,
) -> Span {
    match LevelFilter::current() < LevelFilter::INFO {
        true => Span::none(),
        false => create(head, client, id, tracing, route()),
    }
}

/// The span, whose name contains the route from the start: samplers decide by it, and tracing
/// systems do not rename a span that was entered.
fn create(
    head: &Head<'_>,
    client: &Client,
    id: Option<&RequestId>,
    tracing: &Tracing,
    route: Option<&str>,
) -> Span {
    let (method, original) = method(head.method);
    let prefix = if original.is_some() { "HTTP" } else { method };
    let name = route.map_or(Cow::Borrowed(prefix), |route| format!("{prefix} {route}").into());
    let query = head.uri.query().and_then(|query| tracing.query(query));
    tracing::info_span!(
        "request",
        otel.name = &*name,
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
        http.route = route,
        http.response.status_code = Empty,
        "error.type" = Empty,
        otel.status_code = Empty,
    )
}

/// Records the response to the request. A client error leaves the span's status unset.
#[inline(always)]
pub(crate) fn responded(span: &Span, response: &Response) {
    if !span.is_disabled() {
        record(span, response);
    }
}

fn record(span: &Span, response: &Response) {
    span.record("http.response.status_code", response.status().as_u16());
    if let Some(error) = error_type(response) {
        span.record("error.type", &*error);
        span.record("otel.status_code", "ERROR");
    }
}
