//! Listeners, and what they do with new connections.

mod address;
mod bound;
#[cfg(unix)]
mod socket_file;

#[cfg(unix)]
use std::path::Path;
use std::{io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

#[cfg(feature = "http3")]
use http::HeaderValue;
use policy_core::Rule;
use socket2::{Domain, Protocol, Socket, Type};
#[cfg(target_os = "linux")]
use socket2::{SockFilter, SockRef};
use tokio::{net::lookup_host, sync::Semaphore};
#[cfg(feature = "tls")]
use tokio_rustls::TlsAcceptor;

pub use self::address::ListenAddress;
pub(super) use self::bound::LocalAddress;
#[cfg(unix)]
use self::socket_file::SocketFile;
use self::{
    address::Place,
    bound::{Accepting, BoundSocket},
};
#[cfg(feature = "per_core")]
use super::threads;
use super::{Serving, connection::serve_connection, shutdown::Phase, stream::Stream};
#[cfg(feature = "tls")]
use super::{redirect::Redirect, tls::Certificates};
#[cfg(feature = "metrics")]
use crate::observe::metrics::Endpoint;
use crate::{
    app::settings::ServerSettings,
    base::{error::StartProblem, event::log},
};

/// The backlog: how many connections may wait to be accepted.
const BACKLOG: i32 = 1024;

/// A bound address.
#[derive(Debug)]
pub(super) struct Listener {
    /// One for each runtime that serves connections.
    pub(super) sockets: Vec<BoundSocket>,
    pub(super) address: LocalAddress,
    /// The file of a Unix socket that is ours.
    #[cfg(unix)]
    pub(super) file: Option<SocketFile>,
}

/// The purpose of a listener.
pub(super) enum Role {
    /// Serves the app over plain HTTP.
    Plain,
    /// Serves the app over TLS.
    #[cfg(feature = "tls")]
    Tls {
        acceptor: TlsAcceptor,
        certificates: Arc<Certificates>,
        /// The `Alt-Svc` value that announces HTTP/3 at the same port (RFC 7838 3).
        #[cfg(feature = "http3")]
        alternative: Option<HeaderValue>,
    },
    /// Redirects every request to `https`.
    #[cfg(feature = "tls")]
    Redirect(Redirect),
    /// Serves the metrics.
    #[cfg(feature = "metrics")]
    Metrics(Endpoint),
}

impl Role {
    #[cfg(feature = "tls")]
    pub(super) fn tls(certificates: Arc<Certificates>) -> Self {
        let config = Arc::clone(&certificates).config(&[b"h2", b"http/1.1"]);
        Self::Tls {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificates,
            #[cfg(feature = "http3")]
            alternative: None,
        }
    }

    /// The same role, announcing HTTP/3.
    #[cfg(feature = "http3")]
    pub(super) fn with(mut self, value: Option<HeaderValue>) -> Self {
        if let Self::Tls { alternative, .. } = &mut self {
            *alternative = value;
        }
        self
    }

    /// The `Alt-Svc` value of every response.
    #[cfg(feature = "http3")]
    pub(super) fn alternative(&self) -> Option<&HeaderValue> {
        match self {
            Self::Tls { alternative, .. } => alternative.as_ref(),
            _ => None,
        }
    }

    /// Whether the proxies of the app are in front of the listener.
    pub(super) fn is_behind_proxies(&self) -> bool {
        #[cfg(feature = "metrics")]
        return !matches!(self, Self::Metrics(_));
        #[cfg(not(feature = "metrics"))]
        true
    }

    /// The start message of a listener.
    pub(super) fn start_message(&self, address: &LocalAddress) -> String {
        let with = |scheme: &str| match address {
            LocalAddress::Tcp(address) => format!("{scheme}://{address}"),
            #[cfg(unix)]
            LocalAddress::Unix(_) => format!("{address} ({scheme})"),
        };
        match self {
            Self::Plain => format!("listening on {}", with("http")),
            #[cfg(feature = "http3")]
            Self::Tls { alternative: Some(_), .. } => {
                format!("listening on {}, over QUIC too", with("https"))
            }
            #[cfg(feature = "tls")]
            Self::Tls { .. } => format!("listening on {}", with("https")),
            #[cfg(feature = "tls")]
            Self::Redirect(redirect) => {
                format!("redirecting {} to {}", with("http"), redirect.target())
            }
            #[cfg(feature = "metrics")]
            Self::Metrics(_) => format!("metrics at {}/metrics", with("http")),
        }
    }
}

impl Listener {
    /// Binds an address, with a default port, unless it is bound already.
    pub(super) async fn open(
        address: ListenAddress,
        default_port: u16,
        settings: &ServerSettings,
    ) -> Result<Self, StartProblem> {
        let named = address.to_string();
        let listener = match address.0 {
            Place::Text(text) => Self::bind(&text, default_port, settings).await,
            #[cfg(unix)]
            Place::Unix(path) => Self::in_file(Path::new(&path), settings),
            #[cfg(not(unix))]
            Place::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
            Place::Bound(socket) => Self::bound(socket, settings),
            Place::Failed(error) => Err(error),
        };
        listener
            .map_err(|error| StartProblem::new(Rule::Listen, "listener", named).caused_by(error))
    }

    async fn bind(address: &str, default_port: u16, settings: &ServerSettings) -> io::Result<Self> {
        let mut failed = io::ErrorKind::AddrNotAvailable.into();
        for address in lookup_host(with_port(address, default_port)).await? {
            match Self::at(address, settings) {
                Ok(listener) => return Ok(listener),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    #[cfg(unix)]
    fn in_file(path: &Path, settings: &ServerSettings) -> io::Result<Self> {
        let (socket, file) = SocketFile::bind(path)?;
        Ok(Self { file: Some(file), ..Self::bound(BoundSocket::Unix(socket), settings)? })
    }

    /// Uses a listener that is bound.
    fn bound(socket: BoundSocket, settings: &ServerSettings) -> io::Result<Self> {
        socket.set_nonblocking()?;
        let address = socket.local_address()?;
        // All runtimes accept from one queue, since the address may not be shared.
        #[cfg(feature = "per_core")]
        let count = if settings.per_core { threads::count() } else { 1 };
        #[cfg(not(feature = "per_core"))]
        let (count, _) = (1, settings);
        let mut sockets = Vec::new();
        for _ in 1..count {
            sockets.push(socket.try_clone()?);
        }
        sockets.push(socket);
        Ok(Self::new(sockets, address))
    }

    /// Takes connections from now on, once the app can serve them. The kernel distributes those of a
    /// shared port over all sockets that listen, and resets those of a process that does not start.
    pub(super) fn listen(&self) -> Result<(), StartProblem> {
        self.sockets.iter().try_for_each(BoundSocket::listen).map_err(|error| {
            let address = self.address.to_string();
            StartProblem::new(Rule::Listen, "listener", address).caused_by(error)
        })
    }

    fn new(sockets: Vec<BoundSocket>, address: LocalAddress) -> Self {
        Self {
            sockets,
            address,
            #[cfg(unix)]
            file: None,
        }
    }

    fn at(address: SocketAddr, settings: &ServerSettings) -> io::Result<Self> {
        let first = socket(address, settings)?;
        let address = first.local_addr()?;
        #[cfg(not(feature = "per_core"))]
        let sockets = vec![BoundSocket::Tcp(first)];
        #[cfg(feature = "per_core")]
        let mut sockets = vec![BoundSocket::Tcp(first)];
        #[cfg(feature = "per_core")]
        if settings.per_core {
            for _ in 1..threads::count() {
                sockets.push(BoundSocket::Tcp(socket(address, settings)?));
            }
        }
        Ok(Self::new(sockets, LocalAddress::Tcp(address)))
    }
}

fn socket(address: SocketAddr, settings: &ServerSettings) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // On Windows this option has another meaning, which would be wrong here.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    #[cfg(unix)]
    if settings.shares_port {
        socket.set_reuse_port(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    // Clients may wait while the app starts, unless another process could serve them.
    if !settings.shares_port {
        socket.listen(BACKLOG)?;
    }
    Ok(socket.into())
}

/// Accepts connections up to the limit; the others wait in the kernel's queue. When the server
/// stops, those that have connected by then are still served.
pub(super) async fn accept(socket: BoundSocket, serving: Serving, connections: Arc<Semaphore>) {
    let listener = match socket.into_accepting() {
        Ok(listener) => listener,
        Err(error) => return log!(AcceptFailed, %error),
    };
    let serve = async |(stream, peer)| {
        // Listeners share the permits, so none may hold one while it waits for a client.
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
        tokio::spawn(serve_connection(stream, peer, serving.clone(), permit));
    };
    let mut stopped = pin!(serving.shutdown.wait_while(Phase::Serve));
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut stopped => break,
            accepted = next(&listener) => accepted,
        };
        serve(accepted).await;
    }
    let mut last = pin!(last_handshakes(&listener));
    // The kernel's queue holds at most this many; further connections came after the stop.
    for _ in 0..=BACKLOG {
        let accepted = tokio::select! {
            biased;
            accepted = next(&listener) => accepted,
            () = &mut last => break,
        };
        serve(accepted).await;
    }
}

/// Makes the kernel drop the packets that begin a connection, so that no client connects only to be
/// reset when the listener is closed, and waits for the handshakes that clients consider complete.
/// The client of a dropped packet sends it again after a second, and is refused or reaches another
/// process that shares the port.
///
/// The filter belongs to the socket and lasts as long as it. A socket that others have bound gets
/// none: if they keep it, its queue waits for the next process, and so would the filter. A Unix
/// socket has no handshakes: its file is gone, so no further client can connect. For these, the
/// runtime only has to poll once more for the clients that have connected.
#[cfg(target_os = "linux")]
fn last_handshakes(listener: &Accepting) -> impl Future<Output = ()> {
    /// A round trip of a slow network.
    const HANDSHAKES: Duration = Duration::from_millis(300);
    const LAST_LOOK: Duration = Duration::from_millis(10);
    /// A packet begins with its TCP header, whose flags are at this offset.
    const FLAGS: u32 = 13;
    const SYN: u32 = 0x02;
    // `ldb [FLAGS]; jset #SYN, 0, 1; ret #0; ret #-1`
    let filter = [
        SockFilter::new(0x30, 0, 0, FLAGS),
        SockFilter::new(0x45, 0, 1, SYN),
        SockFilter::new(0x06, 0, 0, 0),
        SockFilter::new(0x06, 0, 0, u32::MAX),
    ];
    tokio::time::sleep(match listener {
        Accepting::Tcp(listener) if SockRef::from(listener).attach_filter(&filter).is_ok() => {
            HANDSHAKES
        }
        Accepting::Tcp(_) | Accepting::PassedTcp(_) | Accepting::Unix(_) => LAST_LOOK,
    })
}

/// Connections that the kernel has not queued yet are lost.
#[cfg(not(target_os = "linux"))]
fn last_handshakes(_listener: &Accepting) -> impl Future<Output = ()> {
    std::future::ready(())
}

async fn next(listener: &Accepting) -> (Stream, Option<SocketAddr>) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => pause_if_exhausted(&error).await,
        }
    }
}

/// A peer that disconnected before it was accepted needs no handling; a lack of file descriptors
/// ends when connections do.
async fn pause_if_exhausted(error: &std::io::Error) {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        log!(AcceptFailed, %error);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The address, with the default port if it has none.
fn with_port(address: &str, default: u16) -> String {
    let behind_host = match address.rsplit_once(']') {
        Some((_, behind)) => behind,
        None => address,
    };
    if behind_host.contains(':') { address.to_owned() } else { format!("{address}:{default}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_gets_one() {
        assert_eq!(with_port("127.0.0.1", 80), "127.0.0.1:80");
        assert_eq!(with_port("[::1]", 443), "[::1]:443");
        assert_eq!(with_port("localhost:8080", 80), "localhost:8080");
        assert_eq!(with_port("[::1]:8080", 80), "[::1]:8080");
    }
}
