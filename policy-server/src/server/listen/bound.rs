//! Bound sockets, and the connections that they accept.

use std::{fmt, io, net::SocketAddr};
#[cfg(unix)]
use std::{os::unix, path::PathBuf};

use socket2::SockRef;
use tokio::net::TcpListener;
#[cfg(unix)]
use tokio::net::UnixListener;

use super::BACKLOG;
use crate::{client::peer::is_of_this_machine, server::stream::Stream};

/// A bound socket that is not registered with a runtime yet.
#[derive(Debug)]
pub(in crate::server) enum BoundSocket {
    /// A TCP socket that this server has bound, and no one else has.
    Tcp(std::net::TcpListener),
    /// A TCP socket that others have bound and may keep, as systemd does.
    PassedTcp(std::net::TcpListener),
    #[cfg(unix)]
    Unix(unix::net::UnixListener),
}

/// The address of a bound socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::server) enum LocalAddress {
    Tcp(SocketAddr),
    /// The file of a Unix socket; `None` for one without a file.
    #[cfg(unix)]
    Unix(Option<PathBuf>),
}

impl BoundSocket {
    pub(super) fn local_address(&self) -> io::Result<LocalAddress> {
        Ok(match self {
            Self::Tcp(listener) | Self::PassedTcp(listener) => {
                LocalAddress::Tcp(listener.local_addr()?)
            }
            #[cfg(unix)]
            Self::Unix(listener) => {
                LocalAddress::Unix(listener.local_addr()?.as_pathname().map(Into::into))
            }
        })
    }

    pub(super) fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Tcp(listener) | Self::PassedTcp(listener) => listener.set_nonblocking(true),
            #[cfg(unix)]
            Self::Unix(listener) => listener.set_nonblocking(true),
        }
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(listener) => Self::Tcp(listener.try_clone()?),
            Self::PassedTcp(listener) => Self::PassedTcp(listener.try_clone()?),
            #[cfg(unix)]
            Self::Unix(listener) => Self::Unix(listener.try_clone()?),
        })
    }

    /// Takes connections, as the others already do. Repeated calls change nothing.
    pub(super) fn listen(&self) -> io::Result<()> {
        if let Self::Tcp(listener) = self {
            SockRef::from(listener).listen(BACKLOG)?;
        }
        Ok(())
    }

    /// Registers the socket with the current runtime.
    pub(super) fn into_accepting(self) -> io::Result<Accepting> {
        Ok(match self {
            Self::Tcp(listener) => Accepting::Tcp(TcpListener::from_std(listener)?),
            Self::PassedTcp(listener) => Accepting::PassedTcp(TcpListener::from_std(listener)?),
            #[cfg(unix)]
            Self::Unix(listener) => Accepting::Unix(UnixListener::from_std(listener)?),
        })
    }
}

impl LocalAddress {
    /// The TCP address, if it has one.
    pub(in crate::server) fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            #[cfg(unix)]
            Self::Unix(_) => None,
        }
    }

    /// Whether only processes of this machine reach it.
    pub(in crate::server) fn is_of_this_machine(&self) -> bool {
        is_of_this_machine(self.tcp())
    }
}

/// The name of the address in problems and logs.
impl fmt::Display for LocalAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            #[cfg(unix)]
            Self::Unix(Some(path)) => write!(f, "unix:{}", path.display()),
            #[cfg(unix)]
            Self::Unix(None) => f.write_str("a Unix socket without a file"),
        }
    }
}

/// A bound socket that is registered with a runtime.
pub(super) enum Accepting {
    Tcp(TcpListener),
    PassedTcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener),
}

impl Accepting {
    /// The next connection, and the address of its peer; those of Unix sockets have none.
    pub(super) async fn accept(&self) -> io::Result<(Stream, Option<SocketAddr>)> {
        match self {
            Self::Tcp(listener) | Self::PassedTcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                Ok((stream.into(), Some(peer)))
            }
            #[cfg(unix)]
            Self::Unix(listener) => {
                let (stream, _unnamed) = listener.accept().await?;
                Ok((stream.into(), None))
            }
        }
    }
}
