//! WebSockets after both sides have switched protocols.

use std::time::Duration;

use base64ct::{Base64, Encoding};
use http::HeaderValue;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use sha1::{Digest, Sha1};
use tokio::{runtime::Handle, try_join};

use crate::{
    base::{
        clock::{Random, RandomError},
        relay::relay,
        task, timers,
    },
    handler::upgrade::ClientClosed,
};

/// How long the upstream has to read what the client sent before its stream closed.
const GRACE: Duration = Duration::from_secs(5);

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
/// route apply to the client's stream, and the connection to the upstream is closed soon after it.
pub(super) fn join(client: OnUpgrade, upstream: OnUpgrade, closed: ClientClosed) {
    task::spawn(&Handle::current(), async move {
        if let Ok((client, upstream)) = try_join!(client, upstream) {
            let ended = async {
                closed.wait().await;
                timers::sleep(GRACE).await;
            };
            relay(TokioIo::new(client), TokioIo::new(upstream), None, ended).await;
        }
    });
}
