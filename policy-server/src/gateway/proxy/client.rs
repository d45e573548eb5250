//! Pooled connections to an upstream.

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
use policy_core::{Rule, reverse_proxy::Upstream};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, pki_types::ServerName},
};
use tower_service::Service;

use super::{
    body::RequestBody,
    connection::{Connection, connection},
};
use crate::base::{error::StartProblem, tls_roots};

/// A pool of connections to one upstream.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) pool: legacy::Client<Connector, RequestBody>,
    speaks_http2: Arc<AtomicBool>,
}

impl Client {
    /// Whether a request will use HTTP/2, as far as known before there is a connection.
    pub(super) fn speaks_http2(&self) -> bool {
        self.speaks_http2.load(Relaxed)
    }
}

/// The most bytes of a response head, and of data read ahead of a slow client over HTTP/1.1.
const BUFFER: usize = 64 * 1024;

/// The flow-control window of one HTTP/2 stream, in bytes and per direction.
const STREAM_WINDOW: u32 = 128 * 1024;

/// The flow-control window of an HTTP/2 connection (RFC 9113 6.9.1). Each stream is limited by its
/// own window; a smaller one for the connection would let slow clients block the others.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

/// How many idle connections are kept, and for how long.
const IDLE_CONNECTIONS: usize = 128;
const IDLE_TIME: Duration = Duration::from_secs(60);

/// How often PING is sent to an HTTP/2 upstream while requests are in flight, and how long the
/// reply may take.
const PING_INTERVAL: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// How to connect to an upstream.
pub(super) struct Transport {
    host: Arc<str>,
    port: u16,
    tls: Option<(ClientConfig, ServerName<'static>)>,
    timeout: Duration,
}

impl Transport {
    /// `authority` is the PEM of the CA certificates to trust, in place of the public web's.
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

    /// A pool. Over TLS the upstream chooses the version of HTTP.
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

    /// HTTP/1.1 connections that are used once.
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
        // Over TLS most upstreams choose HTTP/2.
        let speaks_http2 = is_http2 || (tls.is_some() && protocols.len() > 1);
        let speaks_http2 = Arc::new(AtomicBool::new(speaks_http2));
        Connector { host, port, tls, timeout: self.timeout, is_http2, speaks_http2 }
    }
}

/// Connects to one upstream, whatever address a request names.
#[derive(Clone)]
pub(super) struct Connector {
    host: Arc<str>,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    timeout: Duration,
    /// Whether only HTTP/2 is accepted.
    is_http2: bool,
    /// The version negotiated last.
    speaks_http2: Arc<AtomicBool>,
}

impl Connector {
    async fn connect(self) -> io::Result<TokioIo<Connection>> {
        let stream = TcpStream::connect((&*self.host, self.port)).await?;
        // Requests are written whole, so Nagle's algorithm would only delay them.
        stream.set_nodelay(true)?;
        let Some((connector, name)) = self.tls else {
            return Ok(TokioIo::new(connection(stream, self.is_http2)));
        };
        let stream = connector.connect(name, stream).await?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        self.speaks_http2.store(is_http2, Relaxed);
        if self.is_http2 && !is_http2 {
            return Err(io::Error::other("the upstream does not speak HTTP/2"));
        }
        Ok(TokioIo::new(connection(stream, is_http2)))
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
