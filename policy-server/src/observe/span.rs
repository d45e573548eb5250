//! The span of one request.

use policy_core::head::Head;
use tracing::{Span, level_filters::LevelFilter};

use crate::{base::log::cut, client::Client, observe::request_id::RequestId};

/// The span of one request. Without a subscriber it costs one comparison.
pub(crate) fn span(head: &Head<'_>, client: &Client, id: Option<&RequestId>) -> Span {
    if LevelFilter::current() < LevelFilter::INFO {
        return Span::none();
    }
    tracing::info_span!(
        "request",
        method = %head.method,
        path = %cut(head.path).escape_debug(),
        protocol = ?head.version,
        client = client.address().map(tracing::field::display),
        request_id = id.map(RequestId::as_str),
        route = tracing::field::Empty,
        code = tracing::field::Empty,
        status = tracing::field::Empty,
    )
}
