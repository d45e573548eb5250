//! WebSockets, once both sides agreed to one.

use std::future::pending;

use http::HeaderValue;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::try_join;

use crate::{clock::Random, relay::relay};

/// A key for an upstream (RFC 6455 4.1), where a client of HTTP/2 has none: 16 random bytes in
/// base64. The last of its signs stands for two bits.
pub(super) fn key(random: &Random) -> Result<HeaderValue, getrandom::Error> {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut key = *b"----------------------==";
    for (place, byte) in key.iter_mut().zip(random.draw::<22>()?) {
        *place = SIGNS.get(usize::from(byte % 64)).copied().unwrap_or(b'A');
    }
    if let Some(last) = key.get_mut(21) {
        *last = SIGNS.get(usize::from(*last % 4) * 16).copied().unwrap_or(b'A');
    }
    Ok(HeaderValue::from_bytes(&key).unwrap_or(HeaderValue::from_static("")))
}

/// Passes bytes both ways until both sides have ended, or one fails.
pub(super) fn join(client: OnUpgrade, upstream: OnUpgrade) {
    tokio::spawn(async move {
        if let Ok((client, upstream)) = try_join!(client, upstream) {
            relay(TokioIo::new(client), TokioIo::new(upstream), None, pending()).await;
        }
    });
}
