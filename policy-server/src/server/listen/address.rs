//! The address on which a server listens.

#[cfg(unix)]
use std::os::unix::net::UnixListener;
use std::{
    fmt, io,
    net::{IpAddr, SocketAddr, TcpListener},
};

use super::bound::BoundSocket;

/// How the address of a Unix socket begins.
const UNIX: &str = "unix:";

/// The address on which a server listens: text, a [`SocketAddr`], an address and a port, or a listener
/// that is bound already, by systemd or by a test.
///
/// Text that begins with `unix:` is the path of a Unix socket, for a proxy on the same machine.
/// A Unix socket that is bound already is passed as a `UnixListener`, of `std` or of tokio.
///
/// ```no_run
/// use std::net::{Ipv4Addr, SocketAddr, TcpListener};
/// use policy_server::prelude::*;
///
/// fn app() -> App<()> {
///     App::new(())
/// }
///
/// # async fn all() -> Result<(), Report> {
/// app().serve("127.0.0.1:8080").await?;
/// app().serve((Ipv4Addr::LOCALHOST, 8080)).await?;
/// app().serve(SocketAddr::from(([127, 0, 0, 1], 8080))).await?;
/// app().serve(TcpListener::bind("127.0.0.1:0")?).await?;
/// # #[cfg(unix)]
/// app().serve("unix:/run/shop/shop.sock").await?;
/// # Ok(())
/// # }
/// ```
///
/// # Unix sockets
///
/// - The file is created when the server binds, and removed when it stops. A file that an ended
///   process left behind is replaced; one on which a process listens is an error (`app.listen`), as
///   is a file of another kind. The file of a listener that was passed already bound is not removed.
/// - The permissions of the file and of its folder decide who may connect. The file is created with
///   the permissions that the umask leaves, and connecting requires write permission: with the usual
///   umask, `022`, only the server's own user (and root) can connect. With `007`, the group can too.
/// - A peer has no address: [`PeerAddr`](crate::extract::PeerAddr) is `None`, and so is
///   [`ClientAddr`](crate::extract::ClientAddr) until a proxy that
///   [`TrustedProxies::new(["unix"])`](crate::TrustedProxies) trusts states it. Without one, a rate
///   by address counts all requests together, which a notice at start says (`proxies.socket`).
/// - It counts as an address of this machine: it serves an app without a public origin, and one with
///   sessions or tokens without TLS. With [`App::tls`](crate::App::tls) it serves TLS, for a proxy
///   that passes connections on; HTTP/3 needs a port.
#[derive(Debug)]
pub struct ListenAddress(pub(in crate::server) Place);

#[derive(Debug)]
pub(in crate::server) enum Place {
    /// An address as text. It may have a host name, and no port.
    Text(String),
    /// The path of a Unix socket.
    Unix(String),
    Bound(BoundSocket),
    /// A listener that could not be used.
    Failed(io::Error),
}

impl Place {
    fn from_text(text: &str) -> Self {
        match text.strip_prefix(UNIX) {
            Some(path) => Self::Unix(path.to_owned()),
            None => Self::Text(text.to_owned()),
        }
    }
}

impl<T: AsRef<str> + ?Sized> From<&T> for ListenAddress {
    fn from(address: &T) -> Self {
        Self(Place::from_text(address.as_ref()))
    }
}

impl From<String> for ListenAddress {
    fn from(address: String) -> Self {
        Self(Place::from_text(&address))
    }
}

impl From<SocketAddr> for ListenAddress {
    fn from(address: SocketAddr) -> Self {
        Self(Place::Text(address.to_string()))
    }
}

impl<I: Into<IpAddr>> From<(I, u16)> for ListenAddress {
    fn from((address, port): (I, u16)) -> Self {
        SocketAddr::new(address.into(), port).into()
    }
}

impl From<TcpListener> for ListenAddress {
    fn from(listener: TcpListener) -> Self {
        Self(Place::Bound(BoundSocket::PassedTcp(listener)))
    }
}

impl From<tokio::net::TcpListener> for ListenAddress {
    fn from(listener: tokio::net::TcpListener) -> Self {
        listener.into_std().map_or_else(|error| Self(Place::Failed(error)), Self::from)
    }
}

#[cfg(unix)]
impl From<UnixListener> for ListenAddress {
    fn from(listener: UnixListener) -> Self {
        Self(Place::Bound(BoundSocket::Unix(listener)))
    }
}

#[cfg(unix)]
impl From<tokio::net::UnixListener> for ListenAddress {
    fn from(listener: tokio::net::UnixListener) -> Self {
        listener.into_std().map_or_else(|error| Self(Place::Failed(error)), Self::from)
    }
}

/// The name of the address in problems.
impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Text(text) => f.write_str(text),
            Place::Unix(path) => write!(f, "{UNIX}{path}"),
            Place::Bound(socket) => match socket.local_address() {
                Ok(address) => address.fmt(f),
                Err(_) => f.write_str("a listener"),
            },
            Place::Failed(_) => f.write_str("a listener"),
        }
    }
}
