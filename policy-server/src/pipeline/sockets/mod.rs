//! WebSockets and other upgraded connections under the limits of their route.
//!
//! Whatever serves the upgrade (a handler, a mounted service, the proxy) gets a stream in place of
//! the connection's: messages are counted before they are read, silent clients are pinged and
//! closed, and the client is told why its connection ends.

mod frames;
mod socket;

use std::{
    convert::Infallible,
    future::poll_fn,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use axum_core::{body::Body, response::Response};
use futures_util::future::OptionFuture;
use http::{HeaderMap, Method, Request, StatusCode, header::UPGRADE};
#[cfg(feature = "http2")]
use hyper::ext::Protocol;
use hyper::{body::Incoming, server::conn::http1, service::service_fn, upgrade::OnUpgrade};
use policy_core::Refusal;
use tokio::runtime::Handle;

use self::socket::{Half, Socket};
use crate::{
    auth::{
        RevocationSignal,
        principal::Principal,
        revocation_events::RevocationBus,
        websocket_protocol::{self, ProtocolBearer},
    },
    base::{locks::lock, stream_end::StreamEnd, task, timers},
    handler::{
        BoxFuture,
        upgrade::{ClientClosed, OpenStream},
    },
    route::{
        limits::Permit,
        socket_limits::{SocketLimits, SocketPermit},
    },
};

/// How long a client may take to complete the closing handshake, and a handler to complete the
/// frame that it has begun.
const GRACE: Duration = Duration::from_secs(5);

/// The parts of the app that are needed to serve a request to upgrade.
#[derive(Clone, Copy)]
pub(crate) struct Watching<'a> {
    pub(crate) limits: &'a SocketLimits,
    pub(crate) bus: Option<&'a RevocationBus>,
    /// The bytes per second that a client must read while bytes wait for it.
    pub(crate) min_read_rate: u32,
}

/// A stream that may become a WebSocket.
pub(crate) struct PendingSocket {
    socket: Arc<Socket>,
    client: OnUpgrade,
    /// Gives its stream to the handler.
    handing_over: HandingOver,
    permit: SocketPermit,
    /// Keeps the connection from counting as idle, and the server from ending before it.
    open: Option<OpenStream>,
    closed: ClientClosed,
    bus: Option<RevocationBus>,
    min_read_rate: u32,
    /// Whether its token was in `Sec-WebSocket-Protocol`.
    is_of_protocol: bool,
}

/// hyper's connection for [`Half`].
struct HandingOver {
    connection: Pin<Box<dyn Future<Output = ()> + Send>>,
    is_accepted: Arc<AtomicBool>,
}

/// A [`PendingSocket`] in the extensions of a response.
#[derive(Clone)]
pub(crate) struct SocketSlot(Arc<Mutex<Option<PendingSocket>>>);

/// The outermost socket of a request, such as the socket of an app around a
/// [`PolicyLayer`](crate::PolicyLayer).
#[derive(Clone)]
struct Outermost(Weak<Socket>);

/// Gives a request that [may upgrade its connection](asks_for_stream) a stream under these limits in
/// place of the connection's.
///
/// # Errors
///
/// Too many are open already.
pub(crate) fn intercept<B>(
    watching: Watching<'_>,
    request: &mut Request<B>,
    principal: Option<&Principal>,
    client: Option<IpAddr>,
) -> Result<Option<PendingSocket>, Refusal> {
    let permit = watching.limits.enter(principal, client)?;
    let socket = Socket::new(watching.limits);
    let Some((handing_over, handler)) = HandingOver::new(&socket) else { return Ok(None) };
    let extensions = request.extensions_mut();
    let Some(stream) = extensions.insert(handler) else { return Ok(None) };
    let is_of_protocol = extensions.remove::<ProtocolBearer>().is_some();
    // A client may reply to only one of two pings (RFC 6455 5.5.3), so only one of two sockets
    // pings.
    match extensions.get::<Outermost>().and_then(|Outermost(socket)| socket.upgrade()) {
        Some(outermost) => outermost.ask_for(&socket),
        None => drop(extensions.insert(Outermost(Arc::downgrade(&socket)))),
    }
    let closed = ClientClosed::default();
    extensions.insert(closed.clone());
    Ok(Some(PendingSocket {
        socket,
        client: stream,
        handing_over,
        permit,
        open: extensions.remove::<OpenStream>(),
        closed,
        bus: watching.bus.cloned(),
        min_read_rate: watching.min_read_rate,
        is_of_protocol,
    }))
}

/// Whether the request may upgrade its connection or its stream. A tunnel has limits of its own.
#[inline]
pub(crate) fn asks_for_stream<B>(request: &Request<B>) -> bool {
    let extensions = request.extensions();
    if extensions.get::<OnUpgrade>().is_none() {
        return false;
    }
    #[cfg(feature = "http2")]
    if extensions.get::<Protocol>().is_some() {
        return true;
    }
    *request.method() != Method::CONNECT
}

impl PendingSocket {
    /// Adds this socket to the response, for the code that writes the policy.
    pub(crate) fn with(self, response: BoxFuture) -> BoxFuture {
        Box::pin(async move {
            let mut response = response.await;
            response.extensions_mut().insert(SocketSlot(Arc::new(Mutex::new(Some(self)))));
            response
        })
    }

    /// Takes the socket out of the extensions of a response, if the response upgrades to it.
    pub(crate) fn take(method: &Method, response: &mut Response) -> Option<Self> {
        if response.extensions().is_empty() {
            return None;
        }
        let SocketSlot(slot) = response.extensions_mut().remove()?;
        let pending = lock(&slot).take()?;
        if !upgrades(method, response) {
            return None;
        }
        // Of the protocols that a client offers, the service chooses one.
        if *method == Method::CONNECT || names_websocket(response.headers()) {
            pending.socket.parse_frames();
        }
        Some(pending)
    }

    /// Gives the handler its stream. Returns whether the handler has taken it.
    pub(crate) fn hand_over(&mut self) -> bool {
        self.handing_over.is_accepted.store(true, Relaxed);
        let mut context = Context::from_waker(Waker::noop());
        let _ = self.handing_over.connection.as_mut().poll(&mut context);
        self.handing_over.connection = Box::pin(async {});
        Arc::strong_count(&self.socket) > 1
    }

    /// Completes the head of the response that upgrades to the socket.
    pub(crate) fn write(&self, response: &mut Response) {
        if self.is_of_protocol {
            websocket_protocol::select(response);
        }
    }

    /// Watches the socket from when the response was sent, until it ends.
    pub(crate) fn begin(self, response: &Response, permit: Option<Permit>) {
        let Self { socket, client, handing_over, permit: of_sockets, open, closed, bus, .. } = self;
        drop(handing_over);
        let (half, min_read_rate) = (socket.silence() / 2, self.min_read_rate);
        let revoked =
            response.extensions().get::<RevocationSignal>().and_then(RevocationSignal::take);
        task::spawn(&Handle::current(), async move {
            let revoked = OptionFuture::from(revoked);
            let stopped = OptionFuture::from(bus.as_ref().map(RevocationBus::end_of_service));
            let end = async {
                tokio::select! {
                    Some(end) = revoked => end,
                    Some(()) = stopped => StreamEnd::Service,
                    else => std::future::pending().await,
                }
            };
            watch(&socket, client, half, min_read_rate, end).await;
            drop((of_sockets, permit, open));
            closed.tell();
        });
    }
}

/// Whether a response turns its connection or stream into another protocol.
pub(crate) fn upgrades<B>(method: &Method, response: &http::Response<B>) -> bool {
    let status = response.status();
    status == StatusCode::SWITCHING_PROTOCOLS || (*method == Method::CONNECT && status.is_success())
}

/// Whether `websocket` is among the protocols of `Upgrade` (RFC 9110 7.8).
fn names_websocket(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(UPGRADE).into_iter();
    let mut protocols = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    protocols.any(|protocol| protocol.trim_ascii().eq_ignore_ascii_case(b"websocket"))
}

/// Watches a socket to its end.
async fn watch(
    socket: &Arc<Socket>,
    client: OnUpgrade,
    half: Duration,
    min_read_rate: u32,
    end: impl Future<Output = StreamEnd>,
) {
    let opened = tokio::select! {
        opened = client => opened,
        // The stream begins behind the content of the request. Its client may keep that back while
        // the service holds it.
        () = timers::sleep(half * 2) => {
            tracing::debug!("a connection was not upgraded in time");
            return socket.cut();
        }
    };
    match opened {
        Ok(client) => socket.open(client),
        Err(error) => {
            tracing::debug!(%error, "a connection was not upgraded");
            return socket.cut();
        }
    }
    let least = half.as_millis().saturating_mul(u128::from(min_read_rate)) / 1000;
    let least = u64::try_from(least).unwrap_or(u64::MAX);
    let quiet = async {
        loop {
            timers::sleep(half).await;
            let look = |context: &mut Context<'_>| {
                socket.state().look(least, context);
                Poll::Ready(())
            };
            poll_fn(look).await;
        }
    };
    tokio::select! {
        end = end => socket.state().end(end),
        () = poll_fn(|context| socket.poll_ended(context)) => (),
        () = quiet => (),
    }
    tokio::select! {
        () = poll_fn(|context| socket.state().poll_closed(context)) => (),
        () = timers::sleep(GRACE) => (),
    }
    socket.cut();
}

impl HandingOver {
    /// An upgrade that yields [`Half`]. hyper makes upgrades only for its own connections, so this
    /// is a hyper connection with one request, which is answered when the stream is handed over.
    fn new(socket: &Arc<Socket>) -> Option<(Self, OnUpgrade)> {
        let slot = Arc::new(Mutex::new(None));
        let is_accepted = Arc::new(AtomicBool::new(false));
        let (service_slot, accepts) = (Arc::clone(&slot), Arc::clone(&is_accepted));
        let service = service_fn(move |mut request: Request<Incoming>| {
            *lock(&service_slot) = Some(hyper::upgrade::on(&mut request));
            let accepts = Arc::clone(&accepts);
            poll_fn(move |_| {
                if !accepts.load(Relaxed) {
                    return Poll::Pending;
                }
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
                Poll::Ready(Ok::<_, Infallible>(response))
            })
        });
        let connection =
            http1::Builder::new().serve_connection(Half::new(socket), service).with_upgrades();
        let mut connection: Pin<Box<dyn Future<Output = ()> + Send>> =
            Box::pin(async move { drop(connection.await) });
        let _ = connection.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let upgrade = lock(&slot).take()?;
        Some((Self { connection, is_accepted }, upgrade))
    }
}
