//! WebSockets after both sides have switched protocols.

use std::future::pending;

use data_encoding::BASE64;
use http::HeaderValue;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::try_join;

use crate::{
    base::clock::{Random, RandomError},
    base::relay::relay,
};

/// A `Sec-WebSocket-Key` for the upstream (RFC 6455 4.1), since an HTTP/2 client sends none.
pub(super) fn key(random: &Random) -> Result<HeaderValue, RandomError> {
    let key = BASE64.encode(&random.draw::<16>()?);
    Ok(HeaderValue::try_from(key).unwrap_or(HeaderValue::from_static("")))
}

/// Relays bytes in both directions until both sides have ended or one fails.
pub(super) fn join(client: OnUpgrade, upstream: OnUpgrade) {
    tokio::spawn(async move {
        if let Ok((client, upstream)) = try_join!(client, upstream) {
            relay(TokioIo::new(client), TokioIo::new(upstream), None, pending()).await;
        }
    });
}
