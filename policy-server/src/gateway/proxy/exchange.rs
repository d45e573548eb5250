//! One proxied request and its response.

use std::{future::ready, sync::Arc};

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderValue, Method, Request, StatusCode, Uri,
    header::{
        CONNECTION, CONTENT_LENGTH, CONTENT_LOCATION, COOKIE, Entry, HOST, LOCATION,
        SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SET_COOKIE, TE, TRANSFER_ENCODING, UPGRADE,
    },
    uri::Authority,
};
use http_body::Body as _;
use hyper::{body::Incoming, upgrade::OnUpgrade};
use policy_core::{
    Refusal,
    head::{OwnOrigin, Single},
    reverse_proxy::{
        OriginalRequest, asks_for_websocket, count_hop, end_to_end, keep_end_to_end,
        rewrite_cookie, switches_to_websocket, without_cookies,
    },
};

use super::{
    Gateway,
    begun::Begun,
    body::response_body,
    connection::StreamCount,
    outgoing::{Failure, Fate, Outgoing},
    websocket,
};
use crate::{
    auth::AuthService,
    base::{clock::Random, error::Causes, problem::Problem},
    client,
    handler::{BoxFuture, upgrade::ClientClosed},
};

const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");
const UPGRADES: HeaderValue = HeaderValue::from_static("upgrade");
const CHUNKED: HeaderValue = HeaderValue::from_static("chunked");

/// The parts of the app that a proxied request needs.
pub(crate) struct Serving<'a> {
    pub(crate) auth: &'a AuthService,
    pub(crate) own_origin: &'a OwnOrigin,
    pub(crate) random: &'a Random,
}

/// Forwards a request, and the response to it.
pub(crate) fn forward(
    serving: &Serving<'_>,
    gateway: &Arc<Gateway>,
    request: Request<Body>,
    asking: &client::Client,
) -> BoxFuture {
    let target = match request.uri().path_and_query().map(|path| gateway.mapping.path(path)) {
        Some(Ok(target)) => Uri::from(target),
        Some(Err(refusal)) => return Box::pin(ready(serving.auth.refuse(refusal, &request))),
        None => return Box::pin(ready(serving.auth.refuse(Refusal::TargetForm, &request))),
    };
    let (mut parts, body) = request.into_parts();
    // The only extended CONNECT that gets this far is for WebSockets (RFC 8441 4).
    let is_extended = parts.method == Method::CONNECT;
    // A handshake has no content (RFC 6455 4.1). Some upstreams would read it as frames, which no limit
    // counts, and the client's stream opens only behind it: a client could keep it back for ever.
    let is_websocket = is_extended
        || (body.is_end_stream()
            && asks_for_websocket(&parts.method, parts.version, &parts.headers));
    let stream = parts.extensions.remove::<OnUpgrade>().filter(|_| is_websocket);
    let mut upgrade = stream.map(|stream| {
        let closed = parts.extensions.remove().unwrap_or_default();
        Upgrade { stream, closed, is_extended, accept: None }
    });
    if is_extended {
        parts.method = Method::GET;
    }
    let own_cookie =
        serving.auth.sessions.as_ref().map(|sessions| sessions.cookie_name().to_owned());
    let withheld = own_cookie.as_deref().filter(|_| !gateway.forwards_session);
    let cookies = without_cookies(&parts.headers, withheld.as_slice());
    let has_length = parts.headers.contains_key(CONTENT_LENGTH);
    let host = parts.headers.remove(HOST);
    let mut fields = end_to_end(parts.headers);
    if let Some(cookies) = cookies {
        fields.insert(COOKIE, cookies);
    }
    count_hop(&parts.method, &mut fields);
    frame(has_length, &body, &mut fields);
    let host = host_of(serving.own_origin, asking, &parts.uri, host.as_ref());
    let scheme = if asking.is_secure(serving.own_origin) { "https" } else { "http" };
    let version = parts.version;
    OriginalRequest { client: asking.address(), host, scheme, version }.write(&mut fields);
    let pool = if upgrade.is_some() { &gateway.websockets } else { &gateway.pool };
    if let Some(upgrade) = &mut upgrade {
        fields.insert(CONNECTION, UPGRADES);
        fields.insert(UPGRADE, WEBSOCKET);
        if is_extended {
            match websocket::key(serving.random) {
                Ok(key) => {
                    upgrade.accept = Some(websocket::accept(&key));
                    fields.insert(SEC_WEBSOCKET_KEY, key);
                }
                Err(error) => {
                    return Box::pin(ready(Problem::internal(error).into_response()));
                }
            }
        }
    } else if fields.contains_key(TE) && !pool.speaks_http2() {
        fields.insert(CONNECTION, HeaderValue::from_static("te"));
    }
    let pool = Arc::clone(pool);
    let returning =
        Returning { gateway: Arc::clone(gateway), path: parts.uri.path().to_owned(), own_cookie };
    let outgoing = Outgoing { method: parts.method, target, fields };
    Box::pin(async move {
        match outgoing.send(&returning.gateway, &pool, body, upgrade.is_some()).await {
            Ok((response, stream)) => returning.answer(response, upgrade, stream).await,
            Err(refusal) => Problem::from(refusal).into_response(),
        }
    })
}

/// The upgrade of the client's connection.
struct Upgrade {
    stream: OnUpgrade,
    closed: ClientClosed,
    /// Whether this is a single stream of HTTP/2 or later (RFC 8441) and not a connection.
    is_extended: bool,
    /// The `Sec-WebSocket-Accept` that proves that the upstream has read our key (RFC 6455 4.1). A
    /// client that sent a key checks the response to it itself.
    accept: Option<String>,
}

impl Upgrade {
    fn is_accepted(&self, headers: &HeaderMap) -> bool {
        self.accept.as_ref().is_none_or(|accept| {
            let Single::One(value) = Single::read(headers, &SEC_WEBSOCKET_ACCEPT) else {
                return false;
            };
            value == accept
        })
    }
}

/// Writes the framing headers from the body itself: a header that disagrees with the body would
/// enable request smuggling (RFC 9112 6.3).
fn frame(has_length: bool, body: &Body, fields: &mut HeaderMap) {
    if body.is_end_stream() {
        if has_length {
            fields.insert(CONTENT_LENGTH, HeaderValue::from(0));
        }
    } else if body.size_hint().exact().is_none() {
        fields.insert(TRANSFER_ENCODING, CHUNKED);
    }
}

/// The host of this server that a request names.
fn host_of<'a>(
    own: &'a OwnOrigin,
    asking: &'a client::Client,
    target: &'a Uri,
    host: Option<&'a HeaderValue>,
) -> &'a str {
    match own {
        OwnOrigin::Public(origin) => origin.authority(),
        // A loopback host, which gate 2 has checked; of several, it checks the first of these.
        OwnOrigin::Development => {
            let of_target = || target.authority().map(Authority::as_str);
            let named = || host?.to_str().ok();
            asking.host().or_else(of_target).or_else(named).unwrap_or("localhost")
        }
    }
}

/// The parts of a request that are needed to process its response.
struct Returning {
    gateway: Arc<Gateway>,
    /// A copy: a slice of the URI would prevent hyper from reusing its read buffer.
    path: String,
    own_cookie: Option<String>,
}

impl Returning {
    async fn answer(
        &self,
        upstream: http::Response<Incoming>,
        upgrade: Option<Upgrade>,
        stream: Option<StreamCount>,
    ) -> Response {
        let (mut parts, body) = upstream.into_parts();
        let is_websocket = switches_to_websocket(parts.status, &parts.headers)
            && upgrade.as_ref().is_some_and(|upgrade| upgrade.is_accepted(&parts.headers));
        if let Err(refusal) = self.rewrite(parts.status, &mut parts.headers) {
            return self.failed(refusal, &"its status is unknown, or where it ends");
        }
        let mut response = Response::default();
        // A 2xx would open the HTTP/2 stream even if the upstream did not switch protocols.
        let is_misunderstood = parts.status.is_success()
            && upgrade.as_ref().is_some_and(|upgrade| upgrade.is_extended);
        if parts.status.is_informational() || is_misunderstood {
            let upstream = parts.extensions.remove::<OnUpgrade>();
            let (Some(client), Some(upstream), true) = (upgrade, upstream, is_websocket) else {
                let cause = "the upstream did not switch protocols as requested";
                return self.failed(Refusal::UpstreamAnswer, &cause);
            };
            websocket::join(client.stream, upstream, client.closed);
            if client.is_extended {
                parts.status = StatusCode::OK;
                parts.headers.remove(SEC_WEBSOCKET_ACCEPT);
            } else {
                parts.headers.insert(CONNECTION, UPGRADES);
                parts.headers.insert(UPGRADE, WEBSOCKET);
            }
        } else {
            let body = match Begun::read(body).await {
                Ok(body) => body,
                Err(error) => return self.failed(Refusal::UpstreamAnswer, &Causes(&error)),
            };
            let idle = self.gateway.timeouts.idle;
            *response.body_mut() = response_body(body, idle, stream);
        }
        *response.status_mut() = parts.status;
        *response.headers_mut() = parts.headers;
        response
    }

    fn failed(&self, refusal: Refusal, cause: &dyn std::fmt::Display) -> Response {
        let Failure { refusal, .. } = self.gateway.failed(refusal, cause, Fate::Unknown);
        Problem::from(refusal).into_response()
    }

    /// Rewrites headers that refer to the upstream or to the connection to it.
    ///
    /// # Errors
    ///
    /// The status is invalid for a response, or the framing is ambiguous.
    fn rewrite(&self, status: StatusCode, headers: &mut HeaderMap) -> Result<(), Refusal> {
        keep_end_to_end(status, headers)?;
        let mapping = &self.gateway.mapping;
        let is_rewritten = |name| matches!(name, &LOCATION | &CONTENT_LOCATION | &SET_COOKIE);
        // Few responses have one, and one pass over the names costs less than a lookup of each.
        if !headers.keys().any(is_rewritten) {
            return Ok(());
        }
        mapping.rewrite_locations(headers);
        if let Entry::Occupied(lines) = headers.entry(SET_COOKIE) {
            let (name, lines) = lines.remove_entry_mult();
            let own = self.own_cookie.as_deref();
            let rewritten: Vec<_> = lines
                .filter_map(|line| rewrite_cookie(mapping, &line, &self.path, own.as_slice()))
                .collect();
            for line in rewritten {
                headers.append(name.clone(), line);
            }
        }
        Ok(())
    }
}
