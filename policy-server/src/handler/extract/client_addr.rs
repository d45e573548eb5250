//! The client address.

use std::net::IpAddr;

use axum_core::extract::FromRequestParts;
use http::request::Parts;

use super::context::{Context, ContextRejection, optional};

/// The address of the client: the peer of the connection, or the client that a proxy trusted by
/// [`App::behind`](crate::App::behind) reports. Rate limits by address and the log use the same
/// address. An IPv4 address written as IPv6 (`::ffff:192.0.2.1`) becomes IPv4.
///
/// If a trusted proxy does not report its client, this is the proxy's address; if the proxy hides
/// its client (`unknown`), there is no address. Requests of the test client, and those to an app
/// inside another server, have no socket; there the extractor fails with 500, and
/// `Option<ClientAddr>` is `None`.
///
/// An address identifies a network location, not a person: many people share one, and one person
/// uses many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientAddr(pub IpAddr);

impl<S: Send + Sync> FromRequestParts<S> for ClientAddr {
    type Rejection = ContextRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ContextRejection> {
        let context = Context::from_extensions(&parts.extensions)?;
        context.client.address().map(Self).ok_or(ContextRejection::NO_PEER)
    }
}

optional!(ClientAddr);
