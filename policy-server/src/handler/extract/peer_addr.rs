//! The address of the connection's peer.

use std::net::SocketAddr;

use axum_core::extract::FromRequestParts;
use http::request::Parts;

use super::context::{Context, ContextRejection, optional};

/// The address at the other end of the connection: that of the client, or of the proxy in front of
/// the server. It does not depend on headers; [`ClientAddr`](super::ClientAddr) is the client that
/// sent the request.
///
/// The peer of a [Unix socket](crate::ListenAddress#unix-sockets) has no address. Requests of the
/// test client have no socket; neither do those to an app inside another server, unless that server
/// puts a `PeerAddr` into the extensions of the request. Without an address, the extractor fails with
/// 500, and `Option<PeerAddr>` is `None`.
///
/// ```
/// use policy_server::prelude::*;
///
/// #[get("/whoami")]
/// #[auth(public)]
/// async fn whoami(peer: Option<PeerAddr>) -> String {
///     match peer {
///         Some(PeerAddr(address)) => address.ip().to_string(),
///         None => "somebody".to_owned(),
///     }
/// }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(()).routes(routes![whoami]).test();
/// assert_eq!(client.get("/whoami").send().await.text(), "somebody");
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerAddr(pub SocketAddr);

impl<S: Send + Sync> FromRequestParts<S> for PeerAddr {
    type Rejection = ContextRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ContextRejection> {
        let context = Context::from_extensions(&parts.extensions)?;
        context.client.peer().map(Self).ok_or(ContextRejection::NO_PEER)
    }
}

optional!(PeerAddr);
