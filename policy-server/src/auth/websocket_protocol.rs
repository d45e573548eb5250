//! Tokens in `Sec-WebSocket-Protocol`, the only header of a WebSocket handshake that a page can
//! set.

use axum_core::response::Response;
use http::{
    HeaderMap, HeaderValue, Request,
    header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL},
};
use hyper::upgrade::OnUpgrade;

/// The protocol that announces a token, and the one that the response selects.
const BEARER: &str = "bearer";

/// Marks a request whose token was in `Sec-WebSocket-Protocol`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProtocolBearer;

/// Moves the token of an upgrade to `Authorization`, where the gates read it. It is removed from
/// the list of protocols, from which a handler or an upstream selects one.
pub(crate) fn present<B>(request: &mut Request<B>) {
    let is_upgrade = request.extensions().get::<OnUpgrade>().is_some();
    if is_upgrade && take(request.headers_mut()).is_some() {
        request.extensions_mut().insert(ProtocolBearer);
    }
}

/// Takes `bearer, TOKEN` out of the list of protocols.
fn take(headers: &mut HeaderMap) -> Option<()> {
    let lines = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    let lines = lines.map(HeaderValue::to_str).collect::<Result<Vec<_>, _>>().ok()?.join(",");
    let names: Vec<_> = lines.split(',').map(str::trim).collect();
    let at = names.iter().position(|name| *name == BEARER)?;
    let (before, [_, token, after @ ..]) = names.split_at_checked(at)? else { return None };
    let mut credential = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
    credential.set_sensitive(true);
    let others = [before, after].concat().join(", ");
    let others = HeaderValue::try_from(others).ok().filter(|others| !others.is_empty());
    headers.remove(SEC_WEBSOCKET_PROTOCOL);
    if let Some(others) = others {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, others);
    }
    // Added, not replaced: gate 7 refuses a request with two.
    headers.append(AUTHORIZATION, credential);
    Some(())
}

/// Selects the protocol `bearer`, unless the handler has selected another one: browsers fail a
/// WebSocket whose response selects none of the offered protocols (WHATWG WebSockets, establish a
/// connection).
pub(crate) fn select(response: &mut Response) {
    let headers = response.headers_mut();
    headers.entry(SEC_WEBSOCKET_PROTOCOL).or_insert(HeaderValue::from_static(BEARER));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_follows_bearer_and_other_protocols_stay() {
        for (lines, token, rest) in [
            (&["bearer, a.b.c"][..], Some("Bearer a.b.c"), None),
            (&["bearer,a.b.c, chat"], Some("Bearer a.b.c"), Some("chat")),
            (&["chat.v2, chat", "bearer", "a.b.c"], Some("Bearer a.b.c"), Some("chat.v2, chat")),
            (&["bearer"], None, Some("bearer")),
            (&["chat, a.b.c"], None, Some("chat, a.b.c")),
            (&["Bearer, a.b.c"], None, Some("Bearer, a.b.c")),
            (&[], None, None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(line));
            }
            assert_eq!(take(&mut headers).is_some(), token.is_some(), "{lines:?}");
            let value = |name| headers.get(name).map(|value| value.to_str().unwrap());
            assert_eq!((value(AUTHORIZATION), value(SEC_WEBSOCKET_PROTOCOL)), (token, rest));
        }
    }
}
