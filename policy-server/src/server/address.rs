//! Where a server listens.

use std::{
    fmt,
    net::{IpAddr, SocketAddr, TcpListener},
};

/// Where a server listens: an address as text, a [`SocketAddr`], an address and a port, or a listener
/// that is bound already, by systemd or by a test.
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
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ListenAddress(pub(super) Place);

#[derive(Debug)]
pub(super) enum Place {
    /// Perhaps a host name, and perhaps without a port.
    Text(String),
    Bound(TcpListener),
    /// A listener that was none any more.
    Failed(std::io::Error),
}

impl<T: AsRef<str> + ?Sized> From<&T> for ListenAddress {
    fn from(address: &T) -> Self {
        Self(Place::Text(address.as_ref().to_owned()))
    }
}

impl From<String> for ListenAddress {
    fn from(address: String) -> Self {
        Self(Place::Text(address))
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
        Self(Place::Bound(listener))
    }
}

impl From<tokio::net::TcpListener> for ListenAddress {
    fn from(listener: tokio::net::TcpListener) -> Self {
        Self(listener.into_std().map_or_else(Place::Failed, Place::Bound))
    }
}

/// As problems name it.
impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Text(text) => f.write_str(text),
            Place::Bound(listener) => match listener.local_addr() {
                Ok(address) => address.fmt(f),
                Err(_) => f.write_str("a listener"),
            },
            Place::Failed(_) => f.write_str("a listener"),
        }
    }
}
