//! One HTTP/3 request and its response.

use std::{
    cell::RefCell,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use axum_core::BoxError;
use bytes::Bytes;
use h3::{
    error::Code,
    server::{RequestResolver, RequestStream},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode,
    header::{CONNECTION, CONTENT_LENGTH, DATE, TE, TRANSFER_ENCODING, UPGRADE},
};
use http_body::Body as _;
use http_body_util::BodyExt;
use policy_core::{conditional::ModificationDate, forwarded::ProxyReport};
use tokio::time::timeout;

use super::{
    body::RequestBody,
    fields::{self, EncodedSection},
    frames::{data_head, headers_head},
    quic::{AcceptedStream, Outbound, ResponseStream, Transport},
};
use crate::{
    auth::LastCredential,
    client::peer::Peer,
    pipeline::{dispatch::Connection, response_future::FirstPoll},
    server::{
        Serving,
        activity::Activity,
        outgoing::{OutgoingBody, finish_response},
        shutdown::Phase,
    },
};

/// State that all requests of a connection share.
pub(super) struct Common {
    pub(super) serving: Serving,
    /// The address of the handshake.
    pub(super) address: SocketAddr,
    pub(super) activity: Arc<Activity>,
    pub(super) last: LastCredential,
    pub(super) client_limit: Arc<AtomicU64>,
}

impl Common {
    /// Reads a request, and responds unless the client cancels it.
    pub(super) async fn exchange(
        self: Arc<Self>,
        resolver: RequestResolver<Transport, Bytes>,
        accepted: AcceptedStream,
    ) {
        let AcceptedStream { state, is_early, mut stopped } = accepted;
        let settings = &self.serving.service.app().settings;
        let (request, stream) =
            match timeout(settings.header_timeout, resolver.resolve_request()).await {
                Ok(Ok(resolved)) => resolved,
                Ok(Err(error)) => {
                    tracing::debug!(%error, "request without a response");
                    self.activity.gave_up();
                    return;
                }
                Err(_elapsed) => return,
            };
        let unsent = self.activity.unsent();
        let mut turn = None;
        if unsent.is_full() {
            tokio::select! {
                admitted = unsent.room() => turn = Some(admitted),
                _ = &mut stopped => {
                    self.activity.gave_up();
                    return;
                }
            }
        }
        let open = self.activity.begin_request();
        let (counted, inbound) = stream.split();
        let Some(stream) = state.take_response() else { return };
        let mut sender = ResponseSender {
            stream,
            _counted: counted,
            activity: Arc::clone(&self.activity),
            limit: self.client_limit.load(Relaxed),
        };
        let (mut head, ()) = request.into_parts();
        if is_early {
            head.headers.insert(EARLY_DATA, HeaderValue::from_static("1"));
        }
        let body = RequestBody::new(inbound, &head.headers, Arc::clone(&state));
        if let Some(code) = state.refusal_code() {
            return sender.stream.reset(code);
        }
        let is_head = head.method == Method::HEAD;
        let client = ProxyReport::Nothing;
        let peer = Peer { address: Some(self.address), client, is_tls: true };
        let request = http::Request::from_parts(head, body);
        let answering = async {
            let (peer, last) = (Some(peer), Some(&self.last));
            let connection = Connection { peer, last, first_poll: FirstPoll::Later };
            let service = &self.serving.service;
            let Ok(response) = service.respond(request, connection).await;
            let response = finish_response(service.app(), &self.activity, response);
            drop((turn, open));
            sender.send(response, is_head, || state.refusal_code()).await
        };
        let outcome = tokio::select! {
            biased;
            outcome = answering => outcome,
            _ = &mut stopped => {
                self.activity.gave_up();
                return;
            }
        };
        let is_whole = match outcome {
            Ok(is_whole) => {
                self.activity.completed();
                is_whole
            }
            Err(error) => {
                tracing::debug!(%error, "response cut off");
                false
            }
        };
        drop(sender);
        // Closing the connection would drop data that the client has not received yet, and either
        // side may end the connection meanwhile.
        if is_whole || self.serving.shutdown.phase() != Phase::Serve || !settings.keep_alive {
            let _ = stopped.await;
        }
    }
}

/// RFC 8470 5.1: the request may be a replay.
const EARLY_DATA: HeaderName = HeaderName::from_static("early-data");

/// Headers of a connection, which HTTP/3 forbids (RFC 9114 4.2).
const CONNECTION_FIELDS: [HeaderName; 6] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    TRANSFER_ENCODING,
    UPGRADE,
    TE,
];

/// How many bytes are sent before progress of the client is recorded.
const PART: usize = 64 * 1024;

/// Sends the response to the client.
struct ResponseSender {
    stream: ResponseStream,
    /// The library counts the request until it is dropped.
    _counted: RequestStream<Outbound, Bytes>,
    activity: Arc<Activity>,
    /// The largest field section that the client accepts.
    limit: u64,
}

impl ResponseSender {
    /// Sends a whole response. `false` if it was cut off.
    async fn send(
        &mut self,
        response: Response<OutgoingBody>,
        is_head: bool,
        refused: impl Fn() -> Option<Code>,
    ) -> Result<bool, BoxError> {
        let (mut head, mut body) = response.into_parts();
        let has_content = !is_head
            && !matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
            && !body.is_end_stream();
        finish_head(&mut head.headers, has_content.then(|| body.size_hint().exact()).flatten());
        if let Some(code) = refused() {
            self.stream.reset(code);
            return Ok(false);
        }
        self.send_fields(fields::encode(Some(head.status), &head.headers)).await?;
        while has_content && let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                self.stream.reset(Code::H3_INTERNAL_ERROR);
                return Ok(false);
            };
            match frame.into_data() {
                Ok(mut data) => {
                    while !data.is_empty() {
                        let part = data.split_to(data.len().min(PART));
                        let length = part.len();
                        self.stream.send(data_head(length), part).await?;
                        self.activity.wrote(length);
                    }
                }
                Err(frame) => {
                    if let Ok(trailers) = frame.into_trailers() {
                        self.send_fields(fields::encode(None, &trailers)).await?;
                    }
                    break;
                }
            }
        }
        if let Some(code) = refused() {
            self.stream.reset(code);
            return Ok(false);
        }
        self.stream.finish();
        Ok(true)
    }

    async fn send_fields(&mut self, section: EncodedSection) -> Result<(), BoxError> {
        if section.size > self.limit {
            return Err("a field section is over the limit of the client".into());
        }
        Ok(self.stream.send(headers_head(section.bytes.len()), section.bytes).await?)
    }
}

/// The headers that hyper adds in the other versions.
fn finish_head(headers: &mut HeaderMap, length: Option<u64>) {
    // Few responses have one, and one pass over the names costs less than a lookup of each.
    if headers.keys().any(|name| CONNECTION_FIELDS.contains(name)) {
        if let Some(named) = headers.remove(CONNECTION) {
            for name in named.to_str().unwrap_or_default().split(',') {
                headers.remove(name.trim());
            }
        }
        for name in &CONNECTION_FIELDS {
            headers.remove(name);
        }
    }
    if let Some(length) = length {
        headers.entry(CONTENT_LENGTH).or_insert_with(|| length.into());
    }
    if !headers.contains_key(DATE) {
        headers.insert(DATE, date());
    }
}

/// The date, formatted once a second.
fn date() -> HeaderValue {
    thread_local! {
        static WRITTEN: RefCell<(u64, HeaderValue)> =
            const { RefCell::new((0, HeaderValue::from_static(""))) };
    }
    let now = SystemTime::now();
    let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    WRITTEN.with_borrow_mut(|written| {
        if written.0 != second || written.1.is_empty() {
            *written = (second, ModificationDate::from(now).value());
        }
        written.1.clone()
    })
}
