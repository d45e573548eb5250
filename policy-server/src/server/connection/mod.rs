//! One connection: its handshake, its requests, its timer and its shutdown.

mod first_bytes;
mod http1;
#[cfg(any(test, not(feature = "http2")))]
mod http1_required;
#[cfg(feature = "http2")]
mod http2;
mod service;
mod timer;

use std::{
    future::poll_fn,
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};

use hyper_util::rt::TokioIo;
use policy_core::forwarded::ProxyReport;
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Sleep, sleep},
};

#[cfg(feature = "http2")]
pub(super) use self::http2::Frames;
pub(super) use self::{first_bytes::Protocol, timer::Timer};
use self::{first_bytes::by_first_bytes, http1::Http1, service::ConnectionService};
use super::{
    Serving,
    activity::Activity,
    listen::Role,
    monitor::Monitor,
    proxy_protocol,
    shutdown::{FIRST_BYTES, Phase, Shutdown},
    socket::Socket,
    stream::Stream,
};
use crate::{
    auth::LastCredential,
    base::observed_io::ObservedIo,
    client::{peer::Peer, trusted_proxies::CompiledProxies},
};

/// Serves one connection to its end, which drops `permit` and `alive`.
pub(super) async fn serve_connection(
    stream: Stream,
    address: Option<SocketAddr>,
    serving: Serving,
    permit: OwnedSemaphorePermit,
) {
    let Serving { service, role, unsent, shutdown, alive } = serving;
    let app = Arc::clone(service.app());
    let settings = &app.settings;
    let stream = stream.without_delay();
    let proxies = app.proxies.as_ref().filter(|_| role.is_behind_proxies());
    // Boxed, so that its memory is freed when it completes, instead of staying part of the task.
    let established = Box::pin(establish(stream, address, &role, proxies));
    let established = tokio::select! {
        established = established => established,
        () = sleep(settings.header_timeout) => None,
        () = shutdown.ends_unused() => None,
    };
    let Some(EstablishedConnection { client, socket, protocol }) = established else { return };
    #[cfg(feature = "metrics")]
    let _open = app.meter.as_ref().and_then(|meter| meter.connections.count(protocol.version()));
    let peer = Peer { address, client, is_tls: socket.is_tls() };
    let activity = Arc::new(Activity::new(&unsent));
    let service = ConnectionService {
        app: service,
        role,
        peer,
        last: LastCredential::default(),
        activity: Arc::clone(&activity),
        shutdown: shutdown.clone(),
        alive: alive.clone(),
    };
    let monitor = Monitor::new(Arc::clone(&activity), permit);
    match protocol {
        Protocol::Http1 => {
            let timer = Timer::new(settings, Some(settings.header_timeout));
            let io = TokioIo::new(ObservedIo::new(socket, monitor));
            drive(Http1::new(io, service), timer, activity, shutdown).await;
        }
        #[cfg(feature = "http2")]
        Protocol::Http2 => {
            let timer = Timer::new(settings, None);
            let io = ObservedIo::new(socket, monitor.in_frames());
            drive(http2::serve(io, service), timer, activity, shutdown).await;
        }
        #[cfg(not(feature = "http2"))]
        Protocol::Http2 => tokio::select! {
            () = http1_required::refuse(socket) => (),
            () = sleep(settings.header_timeout) => (),
            () = shutdown.wait_while(Phase::Serve) => (),
        },
    }
    drop(alive);
}

/// A connection that is ready for HTTP.
struct EstablishedConnection {
    /// The client that a proxy reports.
    client: ProxyReport,
    socket: Socket,
    protocol: Protocol,
}

/// Handles what precedes HTTP: the PROXY protocol, TLS if the listener uses it, and the choice of
/// the HTTP version. `None` if the peer speaks another protocol or disconnects.
async fn establish(
    mut stream: Stream,
    address: Option<SocketAddr>,
    role: &Role,
    proxies: Option<&CompiledProxies>,
) -> Option<EstablishedConnection> {
    let mut client = ProxyReport::Nothing;
    if proxies.is_some_and(|proxies| proxies.sends_header(address.map(|address| address.ip()))) {
        let taken = proxy_protocol::take(&mut stream).await;
        let no_header =
            |error: &io::Error| tracing::debug!(%error, "no header of the PROXY protocol");
        client = taken.inspect_err(no_header).ok()?;
    }
    let (socket, protocol) = match role {
        #[cfg(feature = "tls")]
        Role::Tls { acceptor, .. } => super::tls::handshake(acceptor, stream).await?,
        _ => {
            let (stream, protocol) = by_first_bytes(stream).await?;
            (Socket::Plain(stream), protocol)
        }
    };
    Some(EstablishedConnection { client, socket, protocol })
}

/// A connection that can be shut down after the requests in flight.
trait Graceful: Future<Output = hyper::Result<()>> {
    /// Whether it informs its client of the shutdown and of the last request that is served
    /// (GOAWAY). If not, it must not end between its handshake and its first request.
    const TELLS: bool;

    fn end(self: Pin<&mut Self>);

    /// Releases its buffers until the client sends something. The connection must be between two
    /// requests, and has to be polled again.
    fn rest(self: Pin<&mut Self>, context: &mut Context<'_>);
}

/// The strong references to [`Activity`] on a connection without a request: those of its service,
/// its socket and its task.
const HOLDERS: usize = 3;

/// Runs a connection until it ends, its timer closes it, or the server stops.
async fn drive<C: Graceful + Unpin>(
    mut connection: C,
    mut timer: Timer,
    activity: Arc<Activity>,
    shutdown: Shutdown,
) {
    let mut phase = Phase::Serve;
    let mut next_phase = pin!(shutdown.wait_while(phase));
    let mut is_waiting = false;
    let mut is_watched = false;
    let mut first_bytes: Option<Pin<Box<Sleep>>> = None;
    let ended = poll_fn(|context| {
        if !is_watched {
            // A connection stays in one task.
            is_watched = activity.unsent().poll_evicted(context).is_pending();
        }
        loop {
            if let Poll::Ready(ended) = Pin::new(&mut connection).poll(context) {
                return Poll::Ready(ended.err());
            }
            if let Some(late) = &mut first_bytes
                && (!activity.is_unused() || late.as_mut().poll(context).is_ready())
            {
                first_bytes = None;
                Pin::new(&mut connection).end();
                continue;
            }
            if !is_waiting || shutdown.phase() != phase {
                is_waiting = next_phase.as_mut().poll(context).is_pending();
            }
            if is_waiting {
                if activity.unsent().is_closed() || timer.poll(&activity, context).is_ready() {
                    return Poll::Ready(None);
                }
                if timer.saw_quiet() && activity.is_between_requests(HOLDERS) {
                    Pin::new(&mut connection).rest(context);
                    continue;
                }
                return Poll::Pending;
            }
            phase = shutdown.phase();
            if phase == Phase::Cut {
                return Poll::Ready(None);
            }
            next_phase.set(shutdown.wait_while(phase));
            if C::TELLS || !activity.is_unused() {
                Pin::new(&mut connection).end();
            } else {
                first_bytes = Some(Box::pin(sleep(FIRST_BYTES)));
            }
        }
    });
    let ended = ended.await;
    activity.unsent().close();
    if let Some(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}
