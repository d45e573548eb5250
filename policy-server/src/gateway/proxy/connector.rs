//! New connections to an upstream.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use policy_core::{Rule, reverse_proxy::Upstream};
use tokio::time::timeout;
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, pki_types::ServerName},
};

use super::connection::{Connection, connection};
use crate::base::{connect::connect_to_host, error::StartProblem, tls_roots};

/// How to connect to an upstream.
pub(super) struct Transport {
    host: Arc<str>,
    port: u16,
    tls: Option<(ClientConfig, ServerName<'static>)>,
    timeout: Duration,
}

impl Transport {
    /// Creates a transport. `authority` is the PEM of the CA certificates to trust, in place of the
    /// public web's.
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

    /// The connector of a pool. Over TLS the upstream chooses the version of HTTP.
    pub(super) fn connector(&self, is_http2: bool) -> Connector {
        let protocols: &[&[u8]] = if is_http2 { &[b"h2"] } else { &[b"h2", b"http/1.1"] };
        self.speaking(protocols, is_http2)
    }

    /// The connector of HTTP/1.1 connections.
    pub(super) fn connector_of_websockets(&self) -> Connector {
        self.speaking(&[b"http/1.1"], false)
    }

    fn speaking(&self, protocols: &[&[u8]], is_http2: bool) -> Connector {
        let tls = self.tls.clone().map(|(mut config, name)| {
            config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
            (TlsConnector::from(Arc::new(config)), name)
        });
        let (host, port) = (Arc::clone(&self.host), self.port);
        // Over TLS most upstreams choose HTTP/2.
        let speaks_http2 = is_http2 || (tls.is_some() && protocols.len() > 1);
        let speaks_http2 = AtomicBool::new(speaks_http2);
        Connector { host, port, tls, timeout: self.timeout, is_http2, speaks_http2 }
    }
}

/// Connects to one upstream, whatever address a request names.
pub(super) struct Connector {
    host: Arc<str>,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    timeout: Duration,
    /// Whether only HTTP/2 is accepted.
    is_http2: bool,
    /// The version negotiated last.
    speaks_http2: AtomicBool,
}

impl Connector {
    /// Whether the next connection is expected to use HTTP/2.
    pub(super) fn speaks_http2(&self) -> bool {
        self.speaks_http2.load(Relaxed)
    }

    /// Opens a connection within the connect timeout.
    pub(super) async fn connect(&self) -> io::Result<Connection> {
        timeout(self.timeout, self.open()).await.unwrap_or_else(|_elapsed| {
            Err(io::Error::new(io::ErrorKind::TimedOut, "the connection took too long"))
        })
    }

    async fn open(&self) -> io::Result<Connection> {
        let stream = connect_to_host(&self.host, self.port, self.timeout).await?;
        // Requests are written whole, so Nagle's algorithm would only delay them.
        stream.set_nodelay(true)?;
        let Some((connector, name)) = &self.tls else {
            return Ok(connection(stream, self.is_http2));
        };
        let stream = connector.connect(name.clone(), stream).await?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        self.speaks_http2.store(is_http2, Relaxed);
        if self.is_http2 && !is_http2 {
            return Err(io::Error::other("the upstream does not speak HTTP/2"));
        }
        Ok(connection(stream, is_http2))
    }
}
