//! Connections to an upstream, kept for the next request.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_util::{
    client::legacy,
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use policy_core::{Rule, forwarding::Upstream};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, pki_types::ServerName},
};
use tower_service::Service;

use super::{body::RequestBody, connection::Connection};
use crate::base::{error::StartProblem, tls_roots};

/// A pool of connections to one upstream.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) pool: legacy::Client<Connector, RequestBody>,
    speaks_http2: Arc<AtomicBool>,
}

impl Client {
    /// Whether a request goes over HTTP/2, as far as that is known before there is a connection.
    pub(super) fn speaks_http2(&self) -> bool {
        self.speaks_http2.load(Relaxed)
    }
}

/// The most bytes of the head of an answer, and of what is read ahead of a slow client over
/// HTTP/1.1.
const BUFFER: usize = 64 * 1024;

/// The most bytes of one stream of HTTP/2 that are on their way in either direction.
const STREAM_WINDOW: u32 = 128 * 1024;

/// The most bytes of all streams of a connection (RFC 9113 6.9.1). Each of them is bounded by its
/// own window; less for all would let slow clients stop the others.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

/// How many connections without a request are kept, and for how long.
const IDLE_CONNECTIONS: usize = 128;
const IDLE_TIME: Duration = Duration::from_secs(60);

/// How often an upstream of HTTP/2 is asked whether it is still there, while something is asked of
/// it, and how long it may take to say so.
const PING_INTERVAL: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// How an upstream is reached.
pub(super) struct Transport {
    host: Arc<str>,
    port: u16,
    tls: Option<(ClientConfig, ServerName<'static>)>,
    timeout: Duration,
}

impl Transport {
    /// `authority` is the PEM of the certificates to trust, in place of those of the web.
    pub(super) fn new(
        upstream: &Upstream,
        authority: Option<&[u8]>,
        timeout: Duration,
    ) -> Result<Self, StartProblem> {
        let tls = upstream.has_tls().then(|| {
            let name = ServerName::try_from(upstream.host().to_owned());
            let name = name.map_err(|error| {
                StartProblem::without_value(Rule::UpstreamHost, "").caused_by(error)
            })?;
            Ok::<_, StartProblem>((tls_roots::client_config(authority)?, name))
        });
        let (host, port) = (upstream.host().into(), upstream.port());
        Ok(Self { host, port, tls: tls.transpose()?, timeout })
    }

    /// A pool; over TLS of whichever version of HTTP the upstream likes best.
    pub(super) fn client(&self, is_http2: bool) -> Client {
        let protocols: &[&[u8]] = if is_http2 { &[b"h2"] } else { &[b"h2", b"http/1.1"] };
        let connector = self.connector(protocols, is_http2);
        let speaks_http2 = Arc::clone(&connector.speaks_http2);
        let pool = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIME)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .http1_max_buf_size(BUFFER)
            .http2_only(is_http2)
            .http2_initial_stream_window_size(STREAM_WINDOW)
            .http2_initial_connection_window_size(CONNECTION_WINDOW)
            .http2_max_send_buf_size(STREAM_WINDOW as usize)
            .http2_max_header_list_size(BUFFER as u32)
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .build(connector);
        Client { pool, speaks_http2 }
    }

    /// Connections of HTTP/1.1 that nobody uses twice.
    pub(super) fn for_websockets(&self) -> Client {
        let connector = self.connector(&[b"http/1.1"], false);
        let speaks_http2 = Arc::clone(&connector.speaks_http2);
        let pool = legacy::Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .http1_max_buf_size(BUFFER)
            .build(connector);
        Client { pool, speaks_http2 }
    }

    fn connector(&self, protocols: &[&[u8]], is_http2: bool) -> Connector {
        let tls = self.tls.clone().map(|(mut config, name)| {
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            (TlsConnector::from(Arc::new(config)), name)
        });
        let (host, port) = (Arc::clone(&self.host), self.port);
        // Over TLS most upstreams like HTTP/2 best.
        let speaks_http2 = is_http2 || (tls.is_some() && protocols.len() > 1);
        let speaks_http2 = Arc::new(AtomicBool::new(speaks_http2));
        Connector { host, port, tls, timeout: self.timeout, is_http2, speaks_http2 }
    }
}

/// Connects to one upstream, whatever the address of a request says.
#[derive(Clone)]
pub(super) struct Connector {
    host: Arc<str>,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    timeout: Duration,
    /// Whether nothing but HTTP/2 will do.
    is_http2: bool,
    /// What was agreed on last.
    speaks_http2: Arc<AtomicBool>,
}

impl Connector {
    async fn connect(self) -> io::Result<TokioIo<Connection>> {
        let stream = TcpStream::connect((&*self.host, self.port)).await?;
        // Requests are written whole; waiting to fill a segment only delays them.
        stream.set_nodelay(true)?;
        let Some((connector, name)) = self.tls else {
            return Ok(TokioIo::new(Connection::new(stream, self.is_http2)));
        };
        let stream = connector.connect(name, stream).await?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        self.speaks_http2.store(is_http2, Relaxed);
        if self.is_http2 && !is_http2 {
            return Err(io::Error::other("the upstream does not speak HTTP/2"));
        }
        Ok(TokioIo::new(Connection::new(stream, is_http2)))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Connection>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _address: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move {
            let most = connector.timeout;
            timeout(most, connector.connect()).await.unwrap_or_else(|_elapsed| {
                Err(io::Error::new(io::ErrorKind::TimedOut, "the connection took too long"))
            })
        })
    }
}
