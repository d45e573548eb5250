//! Tunnels to a few hosts (CONNECT), as an app declares them.

use std::time::Duration;

use super::access::Callers;

/// A tunnel through the server to a few hosts, such as a database that only the server reaches
/// (RFC 9110 9.3.6, CONNECT; RFC 9113 8.5 over HTTP/2). [`App::tunnel`](crate::App::tunnel) takes
/// it.
///
/// ```
/// use policy_server::{Callers, Tunnel, prelude::*};
/// # use policy_server::tokens::SecretKey;
///
/// # let keys = [("k1", SecretKey::drawn([7; 32]))];
/// let app = App::new(())
///     .public_origin("https://api.shop.example")
///     .tokens(Tokens::hs256(keys)?)
///     .tunnel(
///         Tunnel::to(["db.internal.example:5432"])
///             .auth(Callers::token().scopes(&["tunnel"]))
///             .private(["10.0.0.0/8"]),
///     );
/// # assert!(app.build().is_ok());
/// # Ok::<(), Error>(())
/// ```
///
/// With curl: `curl -p -x https://api.shop.example --proxy-header "Proxy-Authorization: Bearer .." ..`.
///
/// # Where it leads
///
/// To a host and port that stand in the list, in whatever case; to nothing else. The name is
/// resolved for each tunnel, and the addresses are looked at: this machine, private networks and
/// everything else with a [special purpose](policy_core::tunnel::is_special) is left out unless
/// [`private`](Self::private) lists it, so that whoever controls the name's zone cannot turn the
/// tunnel to the inside. The connection goes to the very address that was looked at.
///
/// # Who may
///
/// [`Tunnel::to`] gives [`Targets`], which say who may before they are a tunnel. A client shows its
/// credential to this server as to a proxy: in `Proxy-Authorization`, and it is asked for one by
/// 407 and `Proxy-Authenticate` (RFC 9110 11.7). `Authorization` and cookies are for whom the tunnel
/// leads to, and nobody reads them here; so neither sessions nor tickets open a tunnel. A
/// [scheme](crate::Scheme) of one's own finds the value of `Proxy-Authorization` under
/// `authorization`, and its challenge becomes `Proxy-Authenticate`.
///
/// Pages cannot send CONNECT (Fetch 2.2.1), so a request with an `Origin` is no browser's and is
/// refused.
///
/// # How it ends
///
/// By either side, each direction by itself; after the [idle time](Self::idle_timeout); with the
/// token that opened it, when that expires or is revoked; and when the server stops.
#[derive(Clone, Debug)]
#[must_use = "a tunnel is given to `App::tunnel`"]
pub struct Tunnel {
    pub(crate) targets: Vec<String>,
    /// Nothing for everybody.
    pub(crate) callers: Option<Callers>,
    pub(crate) private: Vec<String>,
    pub(crate) connect_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) at_once: u32,
}

/// The targets of a [`Tunnel`], of which nobody has said who may go there.
#[derive(Clone, Debug)]
#[must_use = "say who may use the tunnel: `.auth(..)`"]
pub struct Targets(Vec<String>);

impl Targets {
    /// A tunnel for these callers.
    pub fn auth(self, callers: Callers) -> Tunnel {
        self.tunnel(Some(callers))
    }

    /// A tunnel for everybody who reaches the server.
    pub fn public(self) -> Tunnel {
        self.tunnel(None)
    }

    fn tunnel(self, callers: Option<Callers>) -> Tunnel {
        Tunnel {
            targets: self.0,
            callers,
            private: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(300),
            at_once: 256,
        }
    }
}

impl Tunnel {
    /// The targets, host and port: `db.internal.example:5432`, `192.0.2.1:22`,
    /// `[2001:db8::1]:443`.
    pub fn to<T: Into<String>>(targets: impl IntoIterator<Item = T>) -> Targets {
        Targets(targets.into_iter().map(Into::into).collect())
    }

    /// The networks with a special purpose in which targets may be, such as `10.0.0.0/8`.
    pub fn private<T: Into<String>>(mut self, networks: impl IntoIterator<Item = T>) -> Self {
        self.private = networks.into_iter().map(Into::into).collect();
        self
    }

    /// How long it may take to resolve a target and to connect to it; 10 seconds. The client gets
    /// 504 then.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long a tunnel stays open without a byte; 5 minutes, and up to half as long again.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// How many tunnels may be open at once; 256. The next one gets 503. Each holds two sockets
    /// and 64 KiB.
    pub fn at_once(mut self, tunnels: u32) -> Self {
        self.at_once = tunnels;
        self
    }
}
