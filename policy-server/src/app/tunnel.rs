//! CONNECT tunnels, as an app declares them.

use std::time::Duration;

use super::access::AuthRequirement;

/// A tunnel through the server to listed hosts, such as a database that only the server can reach
/// (CONNECT, RFC 9110 9.3.6; over HTTP/2, RFC 9113 8.5). Pass it to
/// [`App::tunnel`](crate::App::tunnel).
///
/// ```
/// use policy_server::{AuthRequirement, Tunnel, prelude::*};
/// # use policy_server::tokens::SecretKey;
///
/// # let keys = [("k1", SecretKey::from_bytes([7; 32]))];
/// let app = App::new(())
///     .public_origin("https://api.shop.example")
///     .tokens(Tokens::hs256(keys)?)
///     .tunnel(
///         Tunnel::to(["db.internal.example:5432"])
///             .auth(AuthRequirement::token().scopes(&["tunnel"]))
///             .private(["10.0.0.0/8"]),
///     );
/// # assert!(app.check().is_ok());
/// # Ok::<(), Error>(())
/// ```
///
/// With curl: `curl -p -x https://api.shop.example --proxy-header "Proxy-Authorization: Bearer .." ..`.
///
/// # Targets
///
/// A tunnel leads only to a listed host and port, compared without case. The name is resolved for
/// each tunnel and the addresses are checked: this machine, private networks and all other
/// [special-purpose](policy_core::tunnel::is_special) addresses are refused unless
/// [`private`](Self::private) lists them, so that an attacker who controls the DNS zone cannot direct
/// the tunnel into the internal network. The connection goes to the address that was checked.
///
/// # Callers
///
/// [`Tunnel::to`] gives [`Targets`], which become a tunnel once its callers are declared. A client
/// sends its credential as to a proxy, in `Proxy-Authorization`; the server asks for it by 407 and
/// `Proxy-Authenticate` (RFC 9110 11.7). `Authorization` and cookies belong to the server behind
/// the tunnel and are not read here, so sessions and tickets cannot open a tunnel. A
/// [scheme](crate::Scheme) of the application finds the value of `Proxy-Authorization` under
/// `authorization`, and its challenge becomes `Proxy-Authenticate`.
///
/// Pages cannot send CONNECT (Fetch 2.2.1), so a request with an `Origin` does not come from a
/// browser and is refused.
///
/// # Termination
///
/// A tunnel ends when either side closes it, each direction separately; after the [idle
/// time](Self::idle_timeout); when the token that opened it expires or is revoked; and when the
/// server stops.
#[derive(Clone, Debug)]
#[must_use = "a tunnel is given to `App::tunnel`"]
pub struct Tunnel {
    pub(crate) targets: Vec<String>,
    /// `None` for a public tunnel.
    pub(crate) requirement: Option<AuthRequirement>,
    pub(crate) private: Vec<String>,
    pub(crate) connect_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_tunnels: u32,
}

/// The targets of a [`Tunnel`] whose callers are not declared yet.
#[derive(Clone, Debug)]
#[must_use = "say who may use the tunnel: `.auth(..)`"]
pub struct Targets(Vec<String>);

impl Targets {
    /// A tunnel for callers that meet this requirement.
    pub fn auth(self, requirement: AuthRequirement) -> Tunnel {
        self.tunnel(Some(requirement))
    }

    /// A tunnel for every client that reaches the server.
    pub fn public(self) -> Tunnel {
        self.tunnel(None)
    }

    fn tunnel(self, requirement: Option<AuthRequirement>) -> Tunnel {
        Tunnel {
            targets: self.0,
            requirement,
            private: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(300),
            max_tunnels: 256,
        }
    }
}

impl Tunnel {
    /// The targets, host and port: `db.internal.example:5432`, `192.0.2.1:22`,
    /// `[2001:db8::1]:443`.
    pub fn to<T: Into<String>>(targets: impl IntoIterator<Item = T>) -> Targets {
        Targets(targets.into_iter().map(Into::into).collect())
    }

    /// The special-purpose networks that targets may be in, such as `10.0.0.0/8`.
    pub fn private<T: Into<String>>(mut self, networks: impl IntoIterator<Item = T>) -> Self {
        self.private = networks.into_iter().map(Into::into).collect();
        self
    }

    /// How long resolving a target and connecting to it may take; 10 seconds. After that the client
    /// gets 504. If a name has several addresses, the next one is tried after 250 ms, or sooner if the
    /// time is short.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long a tunnel may be idle; 5 minutes. It is closed at most a quarter of that time later.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// The maximum number of concurrent tunnels; 256. Further ones get 503. Each holds two sockets and
    /// 64 KiB, and up to nine sockets while it connects.
    pub fn max_tunnels(mut self, tunnels: u32) -> Self {
        self.max_tunnels = tunnels;
        self
    }
}
