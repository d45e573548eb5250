//! One connection: protocol detection, its timer, and its shutdown.

use std::{
    convert::Infallible,
    future::poll_fn,
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum_core::body::Body;
#[cfg(feature = "http3")]
use http::header::ALT_SVC;
use http::{
    HeaderValue, Request, Response, StatusCode, Version,
    header::{CONNECTION, SERVER},
};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::Service,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::AsyncReadExt,
    net::TcpStream,
    sync::OwnedSemaphorePermit,
    time::{Instant, Sleep, sleep},
};

use super::{
    Serving,
    activity::{Activity, OpenRequest},
    executor::{StreamExecutor, WithStreams},
    listen::Role,
    monitor::{Monitor, MonitoredIo},
    proxy_protocol,
    shutdown::{FIRST_BYTES, Phase, Shutdown},
    socket::Socket,
    unsent::CountedBody,
    websocket::{Stream, is_connect},
};
use crate::{
    app::settings::ServerSettings,
    auth::RevocationSignal,
    base::{
        body::{BodyObserver, ObservedBody, Polled},
        observed_io::ObservedIo,
    },
    client::peer::Peer,
    client::trusted_proxies::TrustedProxies,
    handler::upgrade::OpenStream,
    pipeline::{response_future::ResponseFuture, service::AppService},
};

/// The first bytes of HTTP/2 with prior knowledge (RFC 9113 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Serves one connection to its end, which drops `permit` and `alive`.
pub(super) async fn serve_connection(
    stream: TcpStream,
    address: SocketAddr,
    serving: Serving,
    permit: OwnedSemaphorePermit,
) {
    let Serving { service, role, unsent, shutdown, alive } = serving;
    let app = Arc::clone(service.app());
    let settings = &app.settings;
    // Responses are written whole, so Nagle's algorithm would only delay them.
    let _ = stream.set_nodelay(true);
    // Boxed, so that its memory is freed when it completes, instead of staying part of the task.
    let established = Box::pin(establish(stream, address, &role, app.proxies.as_ref()));
    let established = tokio::select! {
        established = established => established,
        () = sleep(settings.header_timeout) => None,
        () = shutdown.ends_unused() => None,
    };
    let Some(Established { client, socket, protocol }) = established else { return };
    let peer = Peer { address, client, is_tls: socket.is_tls() };
    let activity = Arc::new(Activity::new(&unsent));
    let service = ConnectionService {
        app: service,
        role,
        peer,
        activity: Arc::clone(&activity),
        shutdown: shutdown.clone(),
    };
    let monitor = Monitor::new(Arc::clone(&activity), permit);
    if protocol == Protocol::Http2 {
        let timer = Timer::new(settings, None);
        let connection = WithStreams::new(|executor| {
            let mut builder = http2::Builder::new(executor);
            builder.timer(TokioTimer::new());
            super::http2::limit(&mut builder, settings);
            let io = ObservedIo::new(socket, monitor.in_frames());
            builder.serve_connection(TokioIo::new(io), service)
        });
        drive(Box::pin(connection), timer, activity, shutdown).await;
    } else {
        let timer = Timer::new(settings, Some(settings.header_timeout));
        let connection = http1::Builder::new()
            .keep_alive(settings.keep_alive)
            .max_buf_size(settings.header_limit)
            // Our own timer has no cost per request.
            .header_read_timeout(None)
            .serve_connection(TokioIo::new(ObservedIo::new(socket, monitor)), service)
            .with_upgrades();
        drive(Box::pin(connection), timer, activity, shutdown).await;
    }
    drop(alive);
}

/// The protocol of an established connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

/// A connection that is ready for HTTP.
struct Established {
    /// The client that a proxy reports.
    client: Option<SocketAddr>,
    socket: Socket,
    protocol: Protocol,
}

/// Handles what precedes HTTP: the PROXY protocol, TLS if the listener uses it, and the choice of
/// the HTTP version. `None` if the peer speaks another protocol or disconnects.
async fn establish(
    mut stream: TcpStream,
    address: SocketAddr,
    role: &Role,
    proxies: Option<&TrustedProxies>,
) -> Option<Established> {
    let mut client = None;
    if proxies.is_some_and(|proxies| proxies.sends_header(address.ip())) {
        let taken = proxy_protocol::take(&mut stream).await;
        let no_header =
            |error: &io::Error| tracing::debug!(%error, "no header of the PROXY protocol");
        client = taken.inspect_err(no_header).ok()?;
    }
    let (socket, protocol) = match role {
        #[cfg(feature = "tls")]
        Role::Tls { acceptor, .. } => super::tls::handshake(acceptor, stream).await?,
        _ => by_first_bytes(stream).await?,
    };
    Some(Established { client, socket, protocol })
}

/// Chooses the protocol by the first bytes. They stay unread, unless they are only the beginning of
/// the preface: readiness for more can be awaited only once they are read.
async fn by_first_bytes(stream: TcpStream) -> Option<(Socket, Protocol)> {
    let mut bytes = [0; PREFACE.len()];
    let (mut stream, mut missing) = (stream, PREFACE);
    loop {
        let len = stream.peek(&mut bytes).await.ok().filter(|len| *len > 0)?;
        let peeked = bytes.get_mut(..len.min(missing.len()))?;
        let protocol = match missing.strip_prefix(&*peeked) {
            Some([]) => Protocol::Http2,
            Some(rest) => {
                stream.read_exact(peeked).await.ok()?;
                missing = rest;
                continue;
            }
            None => Protocol::Http1,
        };
        let begun = PREFACE.strip_suffix(missing)?;
        return Some((Socket::begun(stream, begun), protocol));
    }
}

/// A connection that can be told to end after the requests in flight.
trait Graceful: Future<Output = hyper::Result<()>> {
    /// Whether it tells its client that it ends, and which requests are still served (GOAWAY). If
    /// not, it must not end between its handshake and its first request.
    const TELLS: bool;

    fn end(self: Pin<&mut Self>);
}

impl Graceful for http1::UpgradeableConnection<TokioIo<MonitoredIo>, ConnectionService> {
    const TELLS: bool = false;

    fn end(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl Graceful
    for WithStreams<http2::Connection<TokioIo<MonitoredIo>, ConnectionService, StreamExecutor>>
{
    const TELLS: bool = true;

    fn end(self: Pin<&mut Self>) {
        self.connection().graceful_shutdown();
    }
}

/// Runs a connection until it ends, its timer closes it, or the server stops. The connection is
/// boxed, since every future that contains it would be that much larger.
async fn drive<C: Graceful>(
    mut connection: Pin<Box<C>>,
    mut timer: Timer,
    activity: Arc<Activity>,
    shutdown: Shutdown,
) {
    let mut phase = Phase::Serve;
    let mut next_phase = pin!(shutdown.left(phase));
    let mut is_waiting = false;
    let mut is_watched = false;
    let mut first_bytes: Option<Pin<Box<Sleep>>> = None;
    let ended = poll_fn(|context| {
        if !is_watched {
            // A connection stays in one task.
            is_watched = activity.unsent().poll_evicted(context).is_pending();
        }
        loop {
            if let Poll::Ready(ended) = connection.as_mut().poll(context) {
                return Poll::Ready(ended.err());
            }
            if let Some(late) = &mut first_bytes
                && (!activity.is_unused() || late.as_mut().poll(context).is_ready())
            {
                first_bytes = None;
                connection.as_mut().end();
                continue;
            }
            if !is_waiting || shutdown.phase() != phase {
                is_waiting = next_phase.as_mut().poll(context).is_pending();
            }
            if is_waiting {
                break;
            }
            phase = shutdown.phase();
            if phase == Phase::Cut {
                return Poll::Ready(None);
            }
            next_phase.set(shutdown.left(phase));
            if C::TELLS || !activity.is_unused() {
                connection.as_mut().end();
            } else {
                first_bytes = Some(Box::pin(sleep(FIRST_BYTES)));
            }
        }
        if activity.unsent().is_closed() {
            return Poll::Ready(None);
        }
        timer.poll(&activity, context).map(|()| None)
    });
    let ended = ended.await;
    activity.unsent().close();
    if let Some(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}

/// Closes a connection whose client keeps it waiting.
///
/// The timer is set once and checked when it fires, instead of being set again for every request:
/// [`Activity`] records what happened in between.
pub(super) struct Timer {
    sleep: Pin<Box<Sleep>>,
    /// Whether this task's waker is registered with the sleep. A connection stays in one task, so
    /// the waker never changes.
    is_registered: bool,
    header_timeout: Option<Duration>,
    is_watching_head: bool,
    look: Duration,
    seen: u32,
    /// The maximum of [`Activity::balance`] so far.
    paid: i64,
    /// By how much it has to increase between two looks.
    least: i64,
    quiet_looks: u32,
}

/// A connection is idle after this many checks without progress.
const LOOKS: u32 = 4;

impl Timer {
    pub(super) fn new(settings: &ServerSettings, header_timeout: Option<Duration>) -> Self {
        let look = settings.idle_timeout / LOOKS;
        Self {
            sleep: Box::pin(sleep(look)),
            is_registered: false,
            header_timeout,
            is_watching_head: false,
            look,
            seen: 0,
            paid: 0,
            least: least_within(look, settings.min_read_rate),
            quiet_looks: 0,
        }
    }

    /// Ready when the connection should be closed.
    pub(super) fn poll(&mut self, activity: &Activity, context: &mut Context<'_>) -> Poll<()> {
        if let Some(timeout) = self.header_timeout
            && activity.is_reading_head() != self.is_watching_head
        {
            self.is_watching_head = !self.is_watching_head;
            self.set(if self.is_watching_head { timeout } else { self.look });
        }
        loop {
            if self.is_registered && !self.sleep.is_elapsed() {
                return Poll::Pending;
            }
            self.is_registered = true;
            ready!(self.sleep.as_mut().poll(context));
            if self.is_watching_head || self.is_idle(activity) {
                return Poll::Ready(());
            }
            self.set(self.look);
        }
    }

    fn is_idle(&mut self, activity: &Activity) -> bool {
        let (moved, paid) = (activity.moved(), activity.balance());
        // Further requests are no progress of responses that the client does not read.
        let is_asking = moved != self.seen && !activity.has_to_read();
        let is_moving = is_asking || paid.saturating_sub(self.paid) >= self.least;
        let is_quiet = activity.waits_for_client() && !is_moving;
        self.quiet_looks = if is_quiet { self.quiet_looks + 1 } else { 0 };
        self.seen = moved;
        self.paid = self.paid.max(paid);
        self.quiet_looks >= LOOKS
    }

    fn set(&mut self, after: Duration) {
        self.sleep.as_mut().reset(Instant::now() + after);
        self.is_registered = false;
    }
}

/// The bytes of a client that reads at this many a second; one at least.
fn least_within(time: Duration, rate: u32) -> i64 {
    let bytes = u128::from(rate) * time.as_millis() / 1000;
    i64::try_from(bytes).unwrap_or(i64::MAX).max(1)
}

/// The app as the service of one connection.
struct ConnectionService {
    app: AppService,
    role: Arc<Role>,
    peer: Peer,
    activity: Arc<Activity>,
    shutdown: Shutdown,
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response<OpenBody>;
    type Error = Infallible;
    type Future = OpenResponse;

    fn call(&self, mut request: Request<Incoming>) -> OpenResponse {
        let (open, activity) = (Some(self.activity.begin_request()), Arc::clone(&self.activity));
        let is_http1 = request.version() < Version::HTTP_2;
        let is_tunnel = is_connect(&request) && is_http1;
        let is_last = is_http1 && self.shutdown.phase() != Phase::Serve;
        let stream = if is_connect(&request) { self.stream(&mut request) } else { None };
        let response = match &*self.role {
            #[cfg(feature = "tls")]
            Role::Redirect(redirect) => ResponseFuture::ready(redirect.response(&request)),
            _ => self.app.respond(request, Some(self.peer)),
        };
        #[cfg(feature = "http3")]
        let alternative = self.role.alternative().cloned();
        OpenResponse {
            response,
            open,
            activity,
            is_admitted: false,
            room: None,
            stream,
            is_tunnel,
            server: self.app.app().settings.server_header.clone(),
            is_last,
            #[cfg(feature = "http3")]
            alternative,
        }
    }
}

impl ConnectionService {
    /// The HTTP/2 stream of a request that its response may upgrade.
    fn stream(&self, request: &mut Request<Incoming>) -> Option<Box<Stream>> {
        let opened = OpenStream::new(self.activity.begin_request());
        let stream = Stream::intercept(request, &opened, &self.shutdown);
        request.extensions_mut().insert(opened);
        stream
    }
}

/// A response that keeps its request open, first by itself and then by its body.
struct OpenResponse {
    response: ResponseFuture,
    open: Option<OpenRequest>,
    activity: Arc<Activity>,
    /// Whether the handler may run.
    is_admitted: bool,
    /// Completes when the client has read enough of earlier responses, if the request had to wait.
    room: Option<Room>,
    /// The `Alt-Svc` value that announces HTTP/3.
    #[cfg(feature = "http3")]
    alternative: Option<HeaderValue>,
    stream: Option<Box<Stream>>,
    /// Whether the connection itself was to become a tunnel.
    is_tunnel: bool,
    /// The `Server` value of a response that has none.
    server: Option<HeaderValue>,
    /// Whether the request began after the server had stopped, and its connection ends with it.
    is_last: bool,
}

type Room = Pin<Box<dyn Future<Output = ()> + Send>>;

impl OpenResponse {
    /// Whether the handler may run. This is asked when it would: requests that arrived together
    /// run one after the other, and see each other's responses.
    fn poll_admitted(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.room.is_none() && !self.activity.unsent().is_full() {
            self.is_admitted = true;
            return Poll::Ready(());
        }
        // Meanwhile the client has something to read, so that the connection waits for the client.
        let unsent = self.activity.unsent();
        let room = self.room.get_or_insert_with(|| {
            let unsent = Arc::clone(unsent);
            Box::pin(async move { unsent.room().await })
        });
        ready!(room.as_mut().poll(context));
        self.is_admitted = true;
        Poll::Ready(())
    }
}

impl Drop for OpenResponse {
    fn drop(&mut self) {
        // Otherwise the response has it.
        if self.open.is_some() {
            self.activity.gave_up();
        }
    }
}

impl Future for OpenResponse {
    type Output = Result<Response<OpenBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.is_admitted {
            ready!(self.poll_admitted(context));
        }
        let Ok(response) = ready!(Pin::new(&mut self.response).poll(context));
        #[cfg(feature = "http3")]
        let response = announced(response, self.alternative.take());
        let mut response = response;
        if let Some(server) = self.server.take() {
            response.headers_mut().entry(SERVER).or_insert(server);
        }
        // What follows a refused CONNECT may be meant for the target, sent without waiting for the
        // response (RFC 9931): it must not be read as requests.
        let is_refused_tunnel = self.is_tunnel && !response.status().is_success();
        let is_upgrade = response.status() == StatusCode::SWITCHING_PROTOCOLS;
        if is_refused_tunnel || (self.is_last && !self.is_tunnel && !is_upgrade) {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if is_upgrade {
            end_with_credential(&response, &self.activity);
        }
        if let Some(stream) = self.stream.take().filter(|_| response.status().is_success()) {
            stream.begin(&response);
        }
        self.activity.completed();
        let (open, activity) = (self.open.take(), Arc::clone(&self.activity));
        let has_waited = self.room.is_some();
        Poll::Ready(Ok(response.map(|body| {
            let body = CountedBody::new(body, activity.unsent(), context);
            if has_waited {
                activity.unsent().admit_next();
            }
            let open = open.filter(|_| !body.is_begun());
            ObservedBody::new(body, OpenWhileAsked { open, activity })
        })))
    }
}

/// Announces HTTP/3, unless the app sets `Alt-Svc` itself.
#[cfg(feature = "http3")]
fn announced(mut response: Response<Body>, alternative: Option<HeaderValue>) -> Response<Body> {
    if let Some(alternative) = alternative {
        response.headers_mut().entry(ALT_SVC).or_insert(alternative);
    }
    response
}

/// Closes an upgraded connection when the credential that opened it ends.
fn end_with_credential(response: &Response<Body>, activity: &Arc<Activity>) {
    let Some(ended) =
        response.extensions().get::<RevocationSignal>().and_then(RevocationSignal::take)
    else {
        return;
    };
    activity.upgrade();
    // The socket holds the activity; once it is gone there is nothing to close.
    let activity = Arc::downgrade(activity);
    tokio::spawn(async move {
        let mut ended = pin!(ended);
        loop {
            tokio::select! {
                () = &mut ended => break,
                () = sleep(Duration::from_secs(10)) => if activity.strong_count() == 0 { return },
            }
        }
        if let Some(activity) = activity.upgrade() {
            activity.cut();
        }
    });
}

/// A body that keeps its request open.
type OpenBody = ObservedBody<CountedBody, OpenWhileAsked>;

/// Keeps a request open while the source of its body is waited for. While the client has to read,
/// the connection waits for the client.
struct OpenWhileAsked {
    open: Option<OpenRequest>,
    activity: Arc<Activity>,
}

impl BodyObserver<CountedBody> for OpenWhileAsked {
    fn after(
        &mut self,
        polled: &mut Polled<CountedBody>,
        _body: &CountedBody,
        _context: &mut Context<'_>,
    ) {
        if polled.is_ready() {
            self.open = None;
        } else if self.open.is_none() {
            self.open = Some(self.activity.begin_request());
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::AsyncWriteExt,
        net::{TcpListener, TcpStream},
        task::spawn_blocking,
    };

    use super::*;

    /// The protocol of a connection whose first bytes arrive one by one, and what it reads then.
    async fn found(first: &'static [u8]) -> (Protocol, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let begun = tokio::spawn(by_first_bytes(server));
        for byte in first {
            client.write_all(&[*byte]).await.unwrap();
            let pause = || std::thread::sleep(Duration::from_millis(2));
            spawn_blocking(pause).await.unwrap();
        }
        let (mut socket, protocol) = begun.await.unwrap().expect("a protocol");
        client.write_all(b"more").await.unwrap();
        drop(client);
        let mut read = Vec::new();
        socket.read_to_end(&mut read).await.unwrap();
        (protocol, read)
    }

    /// Time passes only while a timer is waited for.
    #[tokio::test(start_paused = true)]
    async fn first_bytes_are_waited_for_without_a_timer_and_are_not_lost() {
        let begun = Instant::now();
        for (first, protocol) in [
            (PREFACE, Protocol::Http2),
            (&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX"[..], Protocol::Http1),
            (b"POST", Protocol::Http1),
            (b"G", Protocol::Http1),
        ] {
            assert_eq!(found(first).await, (protocol, [first, b"more"].concat()));
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}
