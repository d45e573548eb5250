//! Connections to one upstream, kept for further requests.

use std::{
    error::Error,
    future::poll_fn,
    mem,
    pin::Pin,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use futures_util::future::Either;
use http::{HeaderValue, Request, Response, Uri, header::HOST, uri::Authority};
use hyper::{
    body::Incoming,
    client::conn::{TrySendError, http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use policy_core::reverse_proxy::Upstream;
use tokio::{
    runtime::Handle,
    time::{Instant, Sleep},
};

use super::{
    body::RequestBody,
    connection::{Connection, StreamCount, Usage},
    connector::Connector,
};
use crate::base::{locks::lock, task::BackgroundTask, timers};

/// The maximum size of a response head, and of data read ahead of a slow client over HTTP/1.1.
const BUFFER: usize = 64 * 1024;

/// The flow-control window of one HTTP/2 stream, in bytes and per direction.
const STREAM_WINDOW: u32 = 128 * 1024;

/// The flow-control window of an HTTP/2 connection (RFC 9113 6.9.1). Each stream is limited by its
/// own window; a smaller one for the connection would let slow clients block the others.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

/// How many connections are kept, of each version, and for how long an unused one is.
const IDLE_CONNECTIONS: usize = 128;
const IDLE_TIME: Duration = Duration::from_secs(60);

/// How often PING is sent to an HTTP/2 upstream while requests are in flight, and how long the
/// reply may take.
const PING_INTERVAL: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Connections to one upstream.
pub(super) struct Pool {
    connector: Connector,
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    address: Address,
    /// Whether a connection is kept after its first response.
    keeps: bool,
    kept: Mutex<PooledConnections>,
    /// Held while a connection is opened that will be shared.
    opening: tokio::sync::Mutex<()>,
    /// The number of attempts to open such a connection that failed.
    failures: AtomicUsize,
}

/// The address of an upstream in requests.
struct Address {
    scheme: http::uri::Scheme,
    authority: Authority,
    host: HeaderValue,
}

/// The connections that wait for a request.
#[derive(Default)]
struct PooledConnections {
    /// HTTP/1.1 connections, each for one request at a time. The most recently used is last.
    idle: Vec<(Lease, Instant)>,
    /// HTTP/2 connections. A request takes the first one with room.
    shared: Vec<SharedConnection>,
    /// Closes idle connections.
    sweeper: Option<BackgroundTask>,
}

/// An HTTP/2 connection, which many requests share.
struct SharedConnection {
    sender: http2::SendRequest<RequestBody>,
    usage: Usage,
    used: Instant,
    /// Each request on it has a reference, too.
    streams: StreamCount,
}

/// A connection for one request.
pub(super) struct Lease {
    pub(super) sender: Sender,
    pub(super) usage: Usage,
    pub(super) is_reused: bool,
    /// The timer of the exchange. It stays with an HTTP/1.1 connection: resetting a timer costs less
    /// than creating one for each request.
    pub(super) timer: Pin<Box<Sleep>>,
    /// Kept until the response has ended.
    pub(super) stream: Option<StreamCount>,
}

pub(super) enum Sender {
    Http1(http1::SendRequest<RequestBody>),
    Http2(http2::SendRequest<RequestBody>),
}

/// The response to a request, or the request with its error.
type SendResult = Result<Response<Incoming>, TrySendError<Request<RequestBody>>>;

/// Why a request got no response.
pub(super) struct SendError {
    pub(super) cause: Box<dyn Error + Send + Sync>,
    /// The connection that it was sent on, if there was one.
    pub(super) usage: Option<Usage>,
    /// Whether no connection could be opened.
    pub(super) is_unreachable: bool,
}

impl SendError {
    fn unreachable(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { cause: error.into(), usage: None, is_unreachable: true }
    }

    pub(super) fn on(usage: Usage, error: hyper::Error) -> Self {
        Self { cause: error.into(), usage: Some(usage), is_unreachable: false }
    }
}

impl Pool {
    /// Creates a pool, whose connections are kept if `keeps` is set.
    pub(super) fn new(upstream: &Upstream, connector: Connector, keeps: bool) -> Self {
        let mut http1 = http1::Builder::new();
        http1.max_buf_size(BUFFER);
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buf_size(STREAM_WINDOW as usize)
            .max_header_list_size(BUFFER as u32)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT);
        Self {
            connector,
            http1,
            http2,
            address: Address::new(upstream),
            keeps,
            kept: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            failures: AtomicUsize::new(0),
        }
    }

    /// Whether a request is expected to use HTTP/2, before there is a connection.
    pub(super) fn speaks_http2(&self) -> bool {
        self.connector.speaks_http2()
    }

    /// A connection that is open and waits for a request.
    pub(super) fn waiting(&self, now: Instant) -> Option<Lease> {
        let mut kept = lock(&self.kept);
        if let Some(shared) = kept.shared.iter_mut().find(|shared| shared.has_room()) {
            shared.used = now;
            return Some(shared.lease(true));
        }
        while let Some((lease, since)) = kept.idle.pop() {
            if lease.sender.is_ready() && now < since + IDLE_TIME {
                return Some(lease);
            }
        }
        None
    }

    /// Opens a connection, or waits for one that another request opens and shares.
    pub(super) async fn open(self: &Arc<Self>) -> Result<Lease, SendError> {
        if !self.speaks_http2() {
            return self.connect().await;
        }
        let failures = self.failures.load(Relaxed);
        let opening = self.opening.lock().await;
        if let Some(lease) = self.waiting(Instant::now()) {
            return Ok(lease);
        }
        // Requests that waited for a failed attempt do not retry one after another.
        if self.failures.load(Relaxed) != failures {
            return Err(SendError::unreachable("another request could not connect"));
        }
        if !self.speaks_http2() {
            drop(opening);
            return self.connect().await;
        }
        let connected = self.connect().await;
        if connected.is_err() {
            self.failures.fetch_add(1, Relaxed);
        }
        connected
    }

    async fn connect(self: &Arc<Self>) -> Result<Lease, SendError> {
        let connection = self.connector.connect().await.map_err(SendError::unreachable)?;
        let usage = connection.observer.clone();
        let broken = |error| SendError::on(usage.clone(), error);
        if usage.is_http2() {
            return self.share(connection, &usage).await.map_err(broken);
        }
        let (sender, driver) =
            self.http1.handshake(TokioIo::new(connection)).await.map_err(broken)?;
        // Its errors are reported by the request in flight.
        tokio::spawn(async move { drop(driver.with_upgrades().await) });
        Ok(Lease::new(Sender::Http1(sender), usage, false))
    }

    async fn share(
        self: &Arc<Self>,
        connection: Connection,
        usage: &Usage,
    ) -> hyper::Result<Lease> {
        let connection = self.http2.handshake::<_, RequestBody>(TokioIo::new(connection));
        let (sender, mut driver) = connection.await?;
        usage.allow_streams(driver.current_max_send_streams());
        let observed = usage.clone();
        tokio::spawn(poll_fn(move |context| {
            observed.register_driver(context.waker());
            let polled = Pin::new(&mut driver).poll(context);
            observed.allow_streams(driver.current_max_send_streams());
            polled.map(drop)
        }));
        let shared = SharedConnection {
            sender,
            usage: usage.clone(),
            used: Instant::now(),
            streams: StreamCount::default(),
        };
        let lease = shared.lease(false);
        self.forget_closed();
        let mut kept = lock(&self.kept);
        let keeps = self.keeps && kept.shared.len() < IDLE_CONNECTIONS;
        if keeps && !kept.shared.iter().any(SharedConnection::has_room) {
            kept.shared.push(shared);
            self.sweep(&mut kept);
        }
        Ok(lease)
    }

    /// Keeps the connection of a request whose response has begun, for use after its end.
    pub(super) fn keep(self: &Arc<Self>, mut lease: Lease) {
        let Sender::Http1(sender) = &mut lease.sender else { return };
        if !self.keeps || sender.is_closed() {
            return;
        }
        if sender.is_ready() {
            return self.put(lease);
        }
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            if let Sender::Http1(sender) = &mut lease.sender
                && sender.ready().await.is_ok()
            {
                pool.put(lease);
            }
        });
    }

    fn put(self: &Arc<Self>, mut lease: Lease) {
        lease.is_reused = true;
        let mut kept = lock(&self.kept);
        if kept.idle.len() < IDLE_CONNECTIONS {
            kept.idle.push((lease, Instant::now()));
            self.sweep(&mut kept);
        }
    }

    /// Starts to close idle connections periodically.
    fn sweep(self: &Arc<Self>, kept: &mut PooledConnections) {
        if kept.sweeper.as_ref().is_some_and(|sweeper| !sweeper.is_finished()) {
            return;
        }
        let pool = Arc::downgrade(self);
        let sweep = async move {
            loop {
                timers::sleep(IDLE_TIME).await;
                let Some(pool) = Weak::upgrade(&pool) else { return };
                lock(&pool.kept).close_unused();
            }
        };
        kept.sweeper = Some(BackgroundTask::spawn(&Handle::current(), sweep));
    }

    /// Drops the shared connections that have ended.
    pub(super) fn forget_closed(&self) {
        lock(&self.kept).shared.retain(|shared| !shared.sender.is_closed());
    }

    /// Writes the address into a request, in the form for this connection.
    pub(super) fn address(&self, request: &mut Request<RequestBody>, lease: &Lease) {
        self.address.write(request, &lease.sender);
    }
}

impl Address {
    fn new(upstream: &Upstream) -> Self {
        let authority = upstream.authority().clone();
        let host = HeaderValue::from_str(authority.as_str());
        Self {
            scheme: upstream.scheme().clone(),
            // Every byte of an authority is valid in a field value.
            host: host.unwrap_or(HeaderValue::from_static("")),
            authority,
        }
    }

    /// Writes a path and `Host` (RFC 9112 3.2.1), or everything into the target (RFC 9113 8.3.1).
    fn write(&self, request: &mut Request<RequestBody>, sender: &Sender) {
        match sender {
            Sender::Http1(_) => {
                if request.uri().authority().is_some() {
                    let path = request.uri().path_and_query().cloned();
                    *request.uri_mut() = path.map(Uri::from).unwrap_or_default();
                }
                request.headers_mut().insert(HOST, self.host.clone());
            }
            Sender::Http2(_) => {
                let mut target = mem::take(request.uri_mut()).into_parts();
                target.scheme = Some(self.scheme.clone());
                target.authority = Some(self.authority.clone());
                *request.uri_mut() = Uri::from_parts(target).unwrap_or_default();
                request.headers_mut().remove(HOST);
            }
        }
    }
}

impl PooledConnections {
    fn close_unused(&mut self) {
        let is_used = |since: Instant| since.elapsed() < IDLE_TIME;
        self.idle.retain(|(lease, since)| lease.sender.is_ready() && is_used(*since));
        self.shared.retain(|shared| shared.sender.is_ready() && is_used(shared.used));
    }
}

impl SharedConnection {
    /// Whether the upstream takes one more request at once. If it does not, hyper would hold back
    /// this one and all later ones until a stream ends.
    fn has_room(&self) -> bool {
        // One reference is that of this connection itself.
        self.sender.is_ready() && Arc::strong_count(&self.streams) <= self.usage.allowed_streams()
    }

    fn lease(&self, is_reused: bool) -> Lease {
        let sender = Sender::Http2(self.sender.clone());
        let stream = Some(StreamCount::clone(&self.streams));
        Lease { stream, ..Lease::new(sender, self.usage.clone(), is_reused) }
    }
}

impl Lease {
    fn new(sender: Sender, usage: Usage, is_reused: bool) -> Self {
        let timer = Box::pin(timers::sleep(IDLE_TIME));
        Self { sender, usage, is_reused, timer, stream: None }
    }
}

impl Sender {
    /// Sends a request, and returns the sender for the next one unless the connection has ended.
    ///
    /// A connection that ends drops its queued requests, but not one that is queued at that very
    /// moment: it stays in the channel until the last sender is dropped. So the sender must not be
    /// kept while waiting for that response.
    pub(super) fn send(
        self,
        request: Request<RequestBody>,
    ) -> (impl Future<Output = SendResult>, Option<Self>) {
        match self {
            Self::Http1(mut sender) => {
                let response = sender.try_send_request(request);
                let is_open = !sender.is_closed();
                (Either::Left(response), is_open.then_some(Self::Http1(sender)))
            }
            Self::Http2(mut sender) => {
                let response = sender.try_send_request(request);
                let is_open = !sender.is_closed();
                (Either::Right(response), is_open.then_some(Self::Http2(sender)))
            }
        }
    }

    fn is_ready(&self) -> bool {
        match self {
            Self::Http1(sender) => sender.is_ready(),
            Self::Http2(sender) => sender.is_ready(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Barrier, thread};

    use futures_util::FutureExt;
    use tokio::{io::duplex, join, net::TcpListener};

    use super::{
        super::{body::no_request_body, connector::Transport},
        *,
    };

    async fn pool(is_http2: bool) -> (TcpListener, Arc<Pool>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let upstream = Upstream::parse(&address).unwrap();
        let transport = Transport::new(&upstream, None, Duration::from_secs(10)).unwrap();
        let pool = Pool::new(&upstream, transport.connector(is_http2), true);
        (listener, Arc::new(pool))
    }

    #[tokio::test]
    async fn an_idle_connection_is_used_again_within_its_time() {
        let (_listener, pool) = pool(false).await;
        let keep_one = async || {
            let mut lease = pool.open().await.ok().unwrap();
            assert!(!lease.is_reused);
            let Sender::Http1(sender) = &mut lease.sender else { panic!("HTTP/2") };
            sender.ready().await.unwrap();
            pool.keep(lease);
        };
        keep_one().await;
        assert!(pool.waiting(Instant::now()).unwrap().is_reused);
        assert!(pool.waiting(Instant::now()).is_none());
        keep_one().await;
        assert!(pool.waiting(Instant::now() + IDLE_TIME).is_none());
        assert!(pool.waiting(Instant::now()).is_none());
    }

    #[tokio::test]
    async fn requests_at_once_share_a_connection_of_http2() {
        let (listener, pool) = pool(true).await;
        let (first, second) = join!(pool.open(), pool.open());
        assert!(!first.ok().unwrap().is_reused);
        assert!(second.ok().unwrap().is_reused);
        listener.accept().await.unwrap();
        let further = tokio::time::timeout(Duration::ZERO, listener.accept()).await;
        assert!(further.is_err());
    }

    #[tokio::test]
    async fn full_connections_of_http2_are_kept_up_to_a_limit() {
        let (_listener, mut pool) = pool(true).await;
        Arc::get_mut(&mut pool).unwrap().http2.initial_max_send_streams(1);
        let mut leases = Vec::new();
        for _ in 0..=IDLE_CONNECTIONS {
            leases.push(pool.open().await.ok().unwrap());
        }
        assert!(leases.iter().all(|lease| !lease.is_reused));
        assert_eq!(lock(&pool.kept).shared.len(), IDLE_CONNECTIONS);
    }

    #[tokio::test]
    async fn a_waiting_request_does_not_retry_a_failed_connection() {
        let (listener, pool) = pool(true).await;
        drop(listener);
        let (first, second) = join!(pool.open(), pool.open());
        assert!(first.err().unwrap().is_unreachable);
        assert_eq!(second.err().unwrap().cause.to_string(), "another request could not connect");
    }

    /// A request never waits for a connection that is gone.
    #[test]
    fn a_request_fails_if_its_connection_ends_as_it_is_sent() {
        let mut ended = 0;
        for _ in 0..20_000 {
            let (stream, _upstream) = duplex(64);
            let opened = http1::handshake(TokioIo::new(stream)).now_or_never();
            let (sender, driver) = opened.expect("nothing to wait for").unwrap();
            let at_once = Barrier::new(2);
            let (response, sender) = thread::scope(|scope| {
                scope.spawn(|| {
                    at_once.wait();
                    drop(driver);
                });
                at_once.wait();
                Sender::Http1(sender).send(Request::new(no_request_body()))
            });
            ended += u32::from(sender.is_none());
            let error = response.now_or_never().expect("what became of it").unwrap_err();
            assert!(error.message().is_some());
        }
        assert!(ended > 200, "{ended}");
    }
}
