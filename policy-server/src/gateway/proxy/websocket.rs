//! WebSockets after both sides have switched protocols.

use std::future::pending;

use base64ct::{Base64, Encoding};
use http::HeaderValue;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use sha1::{Digest, Sha1};
use tokio::{runtime::Handle, try_join};

use crate::{
    base::clock::{Random, RandomError},
    base::{relay::relay, task},
};

/// A `Sec-WebSocket-Key` for the upstream (RFC 6455 4.1), since an HTTP/2 client sends none.
pub(super) fn key(random: &Random) -> Result<HeaderValue, RandomError> {
    let key = Base64::encode_string(&random.draw::<16>()?);
    Ok(HeaderValue::try_from(key).unwrap_or(HeaderValue::from_static("")))
}

/// The `Sec-WebSocket-Accept` that belongs to a key (RFC 6455 4.2.2).
pub(super) fn accept(key: &HeaderValue) -> String {
    const OF_THE_STANDARD: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    Base64::encode_string(&Sha1::new().chain_update(key).chain_update(OF_THE_STANDARD).finalize())
}

/// Relays bytes in both directions until both sides have ended or one fails. The limits of the
/// route apply to the client's stream.
pub(super) fn join(client: OnUpgrade, upstream: OnUpgrade) {
    task::spawn(&Handle::current(), async move {
        if let Ok((client, upstream)) = try_join!(client, upstream) {
            relay(TokioIo::new(client), TokioIo::new(upstream), None, pending()).await;
        }
    });
}
