//! HTTP/3 (RFC 9114): the same app over QUIC, on the port number of the TLS listener.

mod body;
mod connection;
mod exchange;
mod fields;
mod frames;
mod quic;
mod section;

use std::{
    io,
    net::{SocketAddr, UdpSocket},
    pin::pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use h3::error::Code;
use http::HeaderValue;
use quinn::{
    Endpoint, EndpointConfig, IdleTimeout, Incoming, TokioRuntime, TransportConfig, VarInt,
    crypto::rustls::QuicServerConfig,
};
use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_rustls::rustls::{
    ServerConfig,
    server::{ProducesTickets, ServerSessionMemoryCache},
};

use super::{Serving, shutdown::Phase};
use crate::app::settings::ServerSettings;
use connection::Handshake;

/// The protocol name in ALPN (RFC 9114 3.1).
pub(super) const ALPN: &[u8] = b"h3";

/// Above this many concurrent handshakes, a client must first prove that it receives at the address
/// it sends from (RFC 9000 8.1), so that spoofed addresses take neither a permit nor memory.
const UNVALIDATED_HANDSHAKES: usize = 64;

/// Concurrent requests of one connection (RFC 9114 6.1 recommends at least 100).
const REQUESTS: u32 = 100;
/// The control stream, both QPACK streams, and some of unknown types (RFC 9114 6.2).
const OTHER_STREAMS: u32 = 8;
/// The maximum number of bytes buffered for one handler, for a whole connection, and for a client.
const STREAM_WINDOW: u32 = 512 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
const SEND_WINDOW: u64 = 1024 * 1024;

/// How many first packets may wait to be accepted, and how many bytes may follow them meanwhile.
const WAITING: usize = 1024;
const WAITING_BYTES: u64 = 16 * 1024;
const ALL_WAITING_BYTES: u64 = 4 * 1024 * 1024;

/// How many of the latest sessions can be resumed.
const SESSIONS: usize = 4096;

/// How long clients remember that HTTP/3 is available: a day (RFC 7838 3.1).
const ANNOUNCED_FOR: u32 = 24 * 60 * 60;

/// The longest silence before a PING. The smaller idle time-out of both sides holds (RFC 9000 10.1),
/// and many clients state 30 seconds.
const LONGEST_SILENCE: Duration = Duration::from_secs(10);

/// How often a port that another process has is tried.
const LOOK: Duration = Duration::from_millis(500);

/// The QUIC listener.
#[derive(Clone, Debug)]
pub(super) struct Http3 {
    address: SocketAddr,
    config: quinn::ServerConfig,
    /// Set once the port is bound.
    endpoint: Arc<OnceLock<Endpoint>>,
}

impl Http3 {
    /// A listener for the UDP port of this number, with a TLS configuration that offers [`ALPN`].
    pub(super) fn new(
        address: SocketAddr,
        mut tls: ServerConfig,
        settings: &ServerSettings,
    ) -> io::Result<Self> {
        // QUIC permits all or none (RFC 9001 4.6.1); the stream limits bound it. A gate refuses
        // requests that must not be replayed.
        tls.max_early_data_size = u32::MAX;
        // Early data requires sessions that can be resumed only once (RFC 8446 8.1).
        tls.ticketer = Arc::new(NoTickets);
        tls.session_storage = ServerSessionMemoryCache::new(SESSIONS);
        let tls = QuicServerConfig::try_from(tls).map_err(io::Error::other)?;
        let mut config = quinn::ServerConfig::with_crypto(Arc::new(tls));
        bound(&mut config, settings);
        Ok(Self { address, config, endpoint: Arc::default() })
    }

    /// Binds the port. Processes cannot share it as they do that of TCP: the kernel would give
    /// packets of open connections to another process.
    pub(super) fn bind(&self) -> io::Result<()> {
        let socket = UdpSocket::bind(self.address)?;
        let (config, runtime) = (Some(self.config.clone()), Arc::new(TokioRuntime));
        let endpoint = Endpoint::new(EndpointConfig::default(), config, socket, runtime)?;
        // Bound once: at the start, or by the one task that accepts.
        let _ = self.endpoint.set(endpoint);
        Ok(())
    }

    /// Accepts connections up to the limit. QUIC has no kernel queue for the others, so they are
    /// refused. A port that another process had at the start is bound when that process ends.
    pub(super) async fn accept(self, connections: Arc<Semaphore>, serving: Serving) {
        let handshakes = Arc::new(AtomicUsize::new(0));
        let mut stopped = pin!(serving.shutdown.wait_while(Phase::Serve));
        let endpoint = loop {
            if let Some(endpoint) = self.endpoint.get() {
                break endpoint;
            }
            tokio::select! {
                biased;
                () = &mut stopped => return,
                () = sleep(LOOK) => (),
            }
            if let Err(error) = self.bind() {
                tracing::debug!(%error, "the UDP port is not free yet");
            }
        };
        loop {
            let incoming = tokio::select! {
                biased;
                () = &mut stopped => return,
                incoming = endpoint.accept() => incoming,
            };
            let Some(incoming) = incoming else { return };
            // QUIC has no place for the header by which such a proxy states its client.
            let (proxies, peer) = (&serving.service.app().proxies, incoming.remote_address().ip());
            if proxies.as_ref().is_some_and(|proxies| proxies.sends_header(Some(peer))) {
                incoming.refuse();
                continue;
            }
            let is_busy = handshakes.load(Relaxed) >= UNVALIDATED_HANDSHAKES;
            if is_busy && !incoming.remote_address_validated() {
                ask_back(incoming);
                continue;
            }
            let Ok(permit) = Arc::clone(&connections).try_acquire_owned() else {
                incoming.refuse();
                continue;
            };
            let handshake = Handshake::begin(&handshakes);
            tokio::spawn(connection::serve(incoming, serving.clone(), handshake, permit));
        }
    }

    /// Accepts no further connections.
    pub(super) fn stop_accepting(&self) {
        if let Some(endpoint) = self.endpoint.get() {
            endpoint.set_server_config(None);
        }
    }

    /// Closes the remaining connections, and waits until their clients could learn of it.
    pub(super) async fn close(self) {
        const PATIENCE: Duration = Duration::from_millis(500);
        let Some(endpoint) = self.endpoint.get() else { return };
        endpoint.close(quic::code(Code::H3_NO_ERROR), b"");
        let _ = timeout(PATIENCE, endpoint.wait_idle()).await;
    }
}

/// The `Alt-Svc` value that announces HTTP/3 at this port, as clients see it.
pub(super) fn alternative(port: u16) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("h3=\":{port}\"; ma={ANNOUNCED_FOR}")).ok()
}

/// Sends Retry (RFC 9000 8.1.2) to a client whose address is not validated yet.
fn ask_back(incoming: Incoming) {
    if incoming.may_retry() {
        // The caller has checked that this is possible.
        let _ = incoming.retry();
    } else {
        incoming.ignore();
    }
}

fn bound(config: &mut quinn::ServerConfig, settings: &ServerSettings) {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(REQUESTS.into())
        .max_concurrent_uni_streams(OTHER_STREAMS.into())
        .stream_receive_window(STREAM_WINDOW.into())
        .receive_window(CONNECTION_WINDOW.into())
        .send_window(SEND_WINDOW)
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(Some(idle(settings.idle_timeout)))
        // QUIC ends a connection without packets even while a request is in flight. With PING, only the
        // timer of the connection decides whether it is idle, as in the other versions.
        .keep_alive_interval(Some(LONGEST_SILENCE.min(settings.idle_timeout / 2)));
    config
        .transport_config(Arc::new(transport))
        .max_incoming(WAITING)
        .incoming_buffer_size(WAITING_BYTES)
        .incoming_buffer_size_total(ALL_WAITING_BYTES);
}

fn idle(time: Duration) -> IdleTimeout {
    IdleTimeout::try_from(time).unwrap_or_else(|_| IdleTimeout::from(VarInt::MAX))
}

/// Keeps sessions in the server instead of in tickets of the clients.
#[derive(Debug)]
struct NoTickets;

impl ProducesTickets for NoTickets {
    fn enabled(&self) -> bool {
        false
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, _plain: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decrypt(&self, _cipher: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use tokio_rustls::rustls::{
        crypto::aws_lc_rs, server::ResolvesServerCertUsingSni, version::TLS13,
    };

    use super::*;

    /// A number in the `Debug` output of a configuration; quinn has no getter for it.
    fn number(config: &quinn::ServerConfig, name: &str) -> u128 {
        let text = format!("{config:?}");
        let (_, rest) = text.split_once(&format!(" {name}: ")).expect(name);
        let digits = rest.trim_start_matches("Some(").split(|next: char| !next.is_ascii_digit());
        digits.clone().next().and_then(|digits| digits.parse().ok()).unwrap_or(u128::MAX)
    }

    #[test]
    fn no_limit_exceeds_that_of_quinn() {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let tls = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(ResolvesServerCertUsingSni::new()));
        let tls = QuicServerConfig::try_from(tls).unwrap();
        let theirs = quinn::ServerConfig::with_crypto(Arc::new(tls));
        let mut ours = theirs.clone();
        bound(&mut ours, &ServerSettings::default());
        for name in [
            "max_concurrent_bidi_streams",
            "max_concurrent_uni_streams",
            "stream_receive_window",
            "receive_window",
            "send_window",
            "max_incoming",
            "incoming_buffer_size",
            "incoming_buffer_size_total",
        ] {
            let [ours, theirs] = [&ours, &theirs].map(|config| number(config, name));
            assert!(0 < ours && ours <= theirs, "{name}: {ours}, {theirs}");
        }
        assert!(format!("{ours:?}").contains("datagram_receive_buffer_size: None"));
        // A client with the idle time-out of quinn, in milliseconds, gets more than one PING in time.
        let silence = 1_000 * number(&ours, "keep_alive_interval");
        assert!(2 * silence < number(&theirs, "max_idle_timeout"), "{silence} ms");
    }
}
