//! Who sent a request.

use std::net::IpAddr;

use axum_core::extract::FromRequestParts;
use http::request::Parts;

use super::context::{Context, ContextRejection, optional};

/// The address that a request came from: the other end of the connection, or what a proxy says
/// that [`App::behind`](crate::App::behind) names. Rate limits by address and the log have the
/// same. It is an IPv4 address also where it was written as IPv6 (`::ffff:192.0.2.1`).
///
/// Where a proxy hides its client, it is the proxy's. Requests of the test client come over no
/// socket, and neither do those to an app that runs inside of another server; there it fails with
/// 500, and `Option<ClientAddr>` is `None`.
///
/// An address tells where a request came from, not who sent it: many people share one, and one
/// person has many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientAddr(pub IpAddr);

impl<S: Send + Sync> FromRequestParts<S> for ClientAddr {
    type Rejection = ContextRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ContextRejection> {
        let context = Context::of(&parts.extensions)?;
        context.client.address().map(Self).ok_or(ContextRejection::NoPeer)
    }
}

optional!(ClientAddr);
