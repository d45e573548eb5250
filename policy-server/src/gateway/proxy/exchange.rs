//! One proxied request and its response.

use std::{error::Error, future::ready, io, pin::pin, sync::Arc};

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    Extensions, HeaderMap, HeaderValue, Method, Request, StatusCode, Uri,
    header::{
        CONNECTION, CONTENT_LENGTH, COOKIE, Entry, HOST, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
        SET_COOKIE, TE, TRANSFER_ENCODING, UPGRADE,
    },
    request,
};
use http_body::Body as _;
use hyper::{body::Incoming, upgrade::OnUpgrade};
use hyper_util::client::legacy;
use policy_core::{
    Refusal,
    gate::{OwnOrigin, Single},
    method,
    reverse_proxy::{
        Sender, asks_for_websocket, count_hop, end_to_end, keep_end_to_end, rewrite_cookie,
        switches_to_websocket, without_cookies,
    },
};
use tokio::{
    select,
    time::{Instant, sleep_until},
};

use super::{
    Gateway,
    begun::Begun,
    body::{Progress, RequestBody, no_request_body, request_body, response_body},
    client::Client,
    connection::Usage,
    websocket,
};
use crate::{
    auth::AuthService,
    base::{clock::Random, problem::Problem},
    client,
    handler::BoxFuture,
    route::limits::Permit,
};

const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");
const UPGRADES: HeaderValue = HeaderValue::from_static("upgrade");
const CHUNKED: HeaderValue = HeaderValue::from_static("chunked");

/// What a proxied request needs from the app.
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
    let target = match request.uri().path_and_query().map(|path| gateway.mapping.target(path)) {
        Some(Ok(target)) => target,
        Some(Err(refusal)) => return Box::pin(ready(serving.auth.refuse(refusal, &request))),
        None => return Box::pin(ready(serving.auth.refuse(Refusal::TargetForm, &request))),
    };
    let (mut parts, body) = request.into_parts();
    // The only extended CONNECT that gets this far is for WebSockets (RFC 8441 4).
    let is_extended = parts.method == Method::CONNECT;
    let is_websocket =
        is_extended || asks_for_websocket(&parts.method, parts.version, &parts.headers);
    let stream = parts.extensions.remove::<OnUpgrade>().filter(|_| is_websocket);
    let mut upgrade = match stream.map(|stream| (stream, gateway.at_once.enter())) {
        None => None,
        Some((stream, Some(permit))) => Some(Upgrade { stream, is_extended, accept: None, permit }),
        Some((_, None)) => {
            let refused = Problem::from(Refusal::ConcurrencyExceeded);
            return Box::pin(ready(refused.into_response()));
        }
    };
    if is_extended {
        parts.method = Method::GET;
    }
    let own_cookie =
        serving.auth.sessions.as_ref().map(|sessions| sessions.cookie_name().to_owned());
    let mut fields = end_to_end(&parts.headers);
    let withheld = own_cookie.as_deref().filter(|_| !gateway.forwards_session);
    if let Some(cookies) = without_cookies(&parts.headers, withheld.as_slice()) {
        fields.insert(COOKIE, cookies);
    }
    count_hop(&parts.method, &mut fields);
    frame(&parts.headers, &body, &mut fields);
    sender(serving.own_origin, &parts, asking).write(&mut fields);
    let client = if upgrade.is_some() { &gateway.websockets } else { &gateway.client };
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
    } else if fields.contains_key(TE) && !client.speaks_http2() {
        fields.insert(CONNECTION, HeaderValue::from_static("te"));
    }
    let client = client.clone();
    let is_of_head = parts.method == Method::HEAD;
    let returning = Returning {
        gateway: Arc::clone(gateway),
        path: parts.uri.path().to_owned(),
        own_cookie,
        is_of_head,
    };
    let outgoing = Outgoing { method: parts.method, target, fields };
    Box::pin(async move {
        match outgoing.send(&returning.gateway, &client, body, upgrade.is_some()).await {
            Ok(response) => returning.answer(response, upgrade).await,
            Err(refusal) => Problem::from(refusal).into_response(),
        }
    })
}

/// What the client's connection is upgraded to.
struct Upgrade {
    stream: OnUpgrade,
    /// Whether it is one HTTP/2 or later stream (RFC 8441) and not a connection.
    is_extended: bool,
    /// The `Sec-WebSocket-Accept` that proves that the upstream has read our key (RFC 6455 4.1). A
    /// client with a key of its own checks that itself.
    accept: Option<String>,
    /// One of those that may be open at once.
    permit: Permit,
}

impl Upgrade {
    fn is_accepted(&self, headers: &HeaderMap) -> bool {
        self.accept.as_ref().is_none_or(|accept| {
            let Single::One(value) = Single::of(headers, &SEC_WEBSOCKET_ACCEPT) else {
                return false;
            };
            value == accept
        })
    }
}

/// Writes the framing headers from the body itself: a header that disagrees with the body would
/// enable request smuggling (RFC 9112 6.3).
fn frame(received: &HeaderMap, body: &Body, fields: &mut HeaderMap) {
    if body.is_end_stream() {
        if received.contains_key(CONTENT_LENGTH) {
            fields.insert(CONTENT_LENGTH, HeaderValue::from(0));
        }
    } else if body.size_hint().exact().is_none() {
        fields.insert(TRANSFER_ENCODING, CHUNKED);
    }
}

/// Who sent a request, and which of our hosts they named.
fn sender<'a>(
    own: &'a OwnOrigin,
    parts: &'a request::Parts,
    asking: &client::Client,
) -> Sender<'a> {
    let host = match own {
        OwnOrigin::Public(origin) => origin.authority(),
        // A loopback host, which gate 2 has checked.
        OwnOrigin::Development => {
            let named = || parts.headers.get(HOST)?.to_str().ok();
            let host = parts.uri.authority().map(http::uri::Authority::as_str).or_else(named);
            host.unwrap_or("localhost")
        }
    };
    let scheme = if asking.is_secure(own) { "https" } else { "http" };
    Sender { client: asking.address(), host, scheme, version: parts.version }
}

/// A request as it is sent to the upstream.
struct Outgoing {
    method: Method,
    target: Uri,
    fields: HeaderMap,
}

/// Why there is no response.
struct Failure {
    refusal: Refusal,
    fate: Fate,
}

/// What became of a request without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The upstream may have processed it.
    Unknown,
    /// It was sent on a pooled connection that had ended, so that an idempotent one may be repeated
    /// (RFC 9110 9.2.2).
    ConnectionDead,
    /// The upstream says that it has not processed it (RFC 9113 8.7).
    Refused,
}

impl Outgoing {
    async fn send(
        self,
        gateway: &Gateway,
        client: &Client,
        body: Body,
        has_upgrade: bool,
    ) -> Result<http::Response<Incoming>, Refusal> {
        let (body, progress) = request_body(body);
        let is_idempotent = method::is_idempotent(self.method.as_str());
        // A body cannot be sent twice.
        let may_repeat = progress.is_none() && !has_upgrade;
        let again = may_repeat.then(|| {
            let Self { method, target, fields } = &self;
            let (method, target, fields) = (method.clone(), target.clone(), fields.clone());
            Self { method, target, fields }.request(no_request_body())
        });
        let progress = progress.as_deref();
        let first = gateway.exchange(client, self.request(body), progress).await;
        match (first, again) {
            (Ok(response), _) => Ok(response),
            (Err(Failure { fate, .. }), Some(again))
                if fate == Fate::Refused || (fate == Fate::ConnectionDead && is_idempotent) =>
            {
                let second = gateway.exchange(client, again, None).await;
                second.map_err(|failure| failure.refusal)
            }
            (Err(failure), _) => Err(failure.refusal),
        }
    }

    fn request(self, body: RequestBody) -> Request<RequestBody> {
        let mut request = Request::new(body);
        *request.method_mut() = self.method;
        *request.uri_mut() = self.target;
        *request.headers_mut() = self.fields;
        request
    }
}

impl Gateway {
    /// Sends a request, and waits for the head of the response.
    async fn exchange(
        &self,
        client: &Client,
        request: Request<RequestBody>,
        progress: Option<&Progress>,
    ) -> Result<http::Response<Incoming>, Failure> {
        let begun = Instant::now();
        let mut response = pin!(client.pool.request(request));
        loop {
            let state = progress.map(Progress::state);
            let waits_for_client = state.is_some_and(|state| state.waits_for_client);
            let patience =
                if waits_for_client { self.timeouts.idle } else { self.timeouts.response };
            let deadline = state.map_or(begun, |state| state.since) + patience;
            if deadline <= Instant::now() {
                let refusal = match waits_for_client {
                    true => Refusal::BodyTimedOut,
                    false => Refusal::UpstreamTimedOut,
                };
                return Err(self.failed(refusal, &"no response in time", Fate::Unknown));
            }
            select! {
                response = &mut response => {
                    let mut response = response.map_err(|error| self.judge(&error, progress))?;
                    if let Some(usage) = response.extensions_mut().remove::<Usage>() {
                        usage.note_response();
                    }
                    return Ok(response);
                }
                () = sleep_until(deadline) => (),
            }
        }
    }

    fn judge(&self, error: &legacy::Error, progress: Option<&Progress>) -> Failure {
        if let Some(refusal) = progress.and_then(|progress| progress.state().failure) {
            let cause = "the body of the request is incomplete";
            return self.failed(refusal, &cause, Fate::Unknown);
        }
        let refusal = match error.is_connect() {
            true if is_late(error) => Refusal::UpstreamTimedOut,
            true => Refusal::UpstreamUnreachable,
            false => Refusal::UpstreamAnswer,
        };
        let usage = error.connect_info().and_then(|connected| {
            let mut extensions = Extensions::new();
            connected.get_extras(&mut extensions);
            extensions.remove::<Usage>()
        });
        let fate = match http2_error(error) {
            Some(error) if is_refused(error) => Fate::Refused,
            None if usage.is_some_and(|usage| usage.was_dead()) => Fate::ConnectionDead,
            _ => Fate::Unknown,
        };
        self.failed(refusal, &Causes(error), fate)
    }

    fn failed(&self, refusal: Refusal, cause: &dyn std::fmt::Display, fate: Fate) -> Failure {
        let cause = cause.to_string();
        tracing::warn!(
            code = refusal.code(),
            upstream = %self.mapping.upstream().authority(),
            cause = %cause.escape_debug(),
            "{}",
            refusal.title()
        );
        Failure { refusal, fate }
    }
}

/// What HTTP/2 says about a stream or a connection, unless the connection simply ended.
fn http2_error(error: &legacy::Error) -> Option<&h2::Error> {
    let mut current: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = current {
        if let Some(error) = error.downcast_ref() {
            return Some(error);
        }
        current = error.source();
    }
    None
}

/// Whether the upstream says that it has not processed the request: REFUSED_STREAM, or GOAWAY with
/// an earlier stream as the last one. h2 ends only the later streams with the error of a GOAWAY.
fn is_refused(error: &h2::Error) -> bool {
    let is_stream_refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    error.is_remote() && (is_stream_refused || error.is_go_away())
}

/// An error with its causes.
struct Causes<'a>(&'a (dyn Error + 'static));

impl std::fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut current = self.0.source();
        while let Some(error) = current {
            write!(f, ": {error}")?;
            current = error.source();
        }
        Ok(())
    }
}

/// Whether connecting took too long.
fn is_late(error: &legacy::Error) -> bool {
    let mut current: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = current {
        let is_late = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
        if error.downcast_ref::<io::Error>().is_some_and(is_late) {
            return true;
        }
        current = error.source();
    }
    false
}

/// What must be kept of a request to process its response.
struct Returning {
    gateway: Arc<Gateway>,
    path: String,
    own_cookie: Option<String>,
    is_of_head: bool,
}

impl Returning {
    async fn answer(
        &self,
        upstream: http::Response<Incoming>,
        upgrade: Option<Upgrade>,
    ) -> Response {
        let (mut parts, body) = upstream.into_parts();
        let is_websocket = switches_to_websocket(parts.status, &parts.headers)
            && upgrade.as_ref().is_some_and(|upgrade| upgrade.is_accepted(&parts.headers));
        if let Err(refusal) = self.rewrite(parts.status, &mut parts.headers) {
            return self.failed(refusal, &"its status is unknown, or where it ends");
        }
        let mut response = Response::default();
        // A 2xx would open the HTTP/2 stream, whatever the upstream did.
        let is_misunderstood = parts.status.is_success()
            && upgrade.as_ref().is_some_and(|upgrade| upgrade.is_extended);
        if parts.status.is_informational() || is_misunderstood {
            let upstream = parts.extensions.remove::<OnUpgrade>();
            let (Some(client), Some(upstream), true) = (upgrade, upstream, is_websocket) else {
                let cause = "the upstream did not switch protocols as requested";
                return self.failed(Refusal::UpstreamAnswer, &cause);
            };
            let idle = self.gateway.timeouts.websocket_idle;
            websocket::join(client.stream, upstream, idle, client.permit);
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
            *response.body_mut() = response_body(body, self.is_of_head, idle);
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
    /// Its status is none, or its framing is ambiguous.
    fn rewrite(&self, status: StatusCode, headers: &mut HeaderMap) -> Result<(), Refusal> {
        keep_end_to_end(status, headers)?;
        let mapping = &self.gateway.mapping;
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
