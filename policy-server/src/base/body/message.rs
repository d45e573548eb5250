//! The bodies that the server accepts from other crates.

use axum_core::BoxError;
use bytes::Bytes;

/// The body of a request or a response: every [`http_body::Body`] of [`Bytes`] that can go to
/// another thread, such as [`Body`](crate::Body), `http_body_util::Full`, hyper's
/// `Incoming` and tower-http's bodies.
///
/// It is a name for these bounds. It is implemented for all types that satisfy them, so there can be
/// no other implementation.
///
/// ```
/// use policy_server::{AppService, MessageBody};
/// use tower::Service;
///
/// fn send<B: MessageBody>(app: &mut AppService, body: B) {
///     drop(app.call(http::Request::new(body)));
/// }
/// ```
pub trait MessageBody:
    http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static
{
}

impl<B> MessageBody for B where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static
{
}
