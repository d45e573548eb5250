//! HTTPS for an app.

use std::{path::PathBuf, time::Duration};

/// HTTPS for an app: its certificate and the additional listeners.
///
/// It supports TLS 1.2 and 1.3, and HTTP/2 and HTTP/1.1 as the client prefers (ALPN, RFC 7301).
/// Over TCP, sessions are resumed by tickets; their keys change every six hours and never leave the
/// process.
///
/// ```
/// use policy_server::{App, Tls};
///
/// let app = App::new(())
///     .public_origin("https://api.shop.example")
///     .tls(Tls::files("cert.pem", "key.pem").redirect_http("0.0.0.0:80"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "it holds for the app that it is given to"]
pub struct Tls {
    pub(crate) source: Source,
    pub(crate) reload: Duration,
    pub(crate) redirect: Option<String>,
    #[cfg(feature = "http3")]
    pub(crate) http3: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Source {
    Files { certificate: PathBuf, key: PathBuf },
    Development { folder: PathBuf },
}

impl Tls {
    /// A certificate followed by its chain, and its key, in PEM files. Both may be the same file.
    ///
    /// The files are checked for changes every 30 seconds, and on SIGHUP on Unix. New connections
    /// use the new certificate; established ones are not affected. If the app could not start with
    /// the new certificate, this is logged as an error and the previous one stays in use.
    pub fn files(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        let (certificate, key) = (certificate.into(), key.into());
        Self::new(Source::Files { certificate, key })
    }

    /// A certificate for `localhost`, `127.0.0.1`, `::1` and the host of the public origin. It is
    /// created if the folder has none, and again in the month before it expires.
    ///
    /// Browsers and clients trust it through `authority.pem` in the same folder, as in `curl
    /// --cacert authority.pem https://localhost:8443/`. The key of that authority is discarded at
    /// once, so it can sign nothing else. Only the owner can read the key of the certificate.
    pub fn development(folder: impl Into<PathBuf>) -> Self {
        Self::new(Source::Development { folder: folder.into() })
    }

    fn new(source: Source) -> Self {
        Self {
            source,
            reload: Duration::from_secs(30),
            redirect: None,
            #[cfg(feature = "http3")]
            http3: false,
        }
    }

    /// How often the files are checked for changes; every 30 seconds.
    pub fn reload_every(mut self, interval: Duration) -> Self {
        self.reload = interval.max(Duration::from_millis(10));
        self
    }

    /// Listens on a second address for plain HTTP and redirects each request with 308 to the same
    /// path and query of the public origin; in development, to `https://localhost` and the bound
    /// port. The host in the request never affects the target. The default port of the address is
    /// 80.
    ///
    /// Preflights, WebSockets, `OPTIONS *` and CONNECT are not redirected: they get 421.
    pub fn redirect_http(mut self, address: impl Into<String>) -> Self {
        self.redirect = Some(address.into());
        self
    }

    /// Also serves HTTP/3 (RFC 9114), over QUIC (RFC 9000) at the UDP port of the same number, and
    /// announces it by `Alt-Svc` (RFC 7838) in every response over TLS. Firewalls and load
    /// balancers must pass UDP to the port of the public origin.
    ///
    /// It serves the same app with the same limits. What differs:
    ///
    /// - **The parser.** The crate below, `h3`, is a 0.0.x release.
    ///   [HTTPS](crate::guide::tls#the-http3-parser) lists what is checked in front of it and behind it.
    /// - **Early data.** A returning client may send requests with its first packet, before the
    ///   handshake is complete. An attacker who copies that packet can replay it, so only safe
    ///   methods on routes without authentication are served from it. All others get 425, and
    ///   clients repeat them after the handshake (RFC 8470). Handlers and proxies see the header
    ///   `Early-Data: 1`.
    /// - **Addresses.** A client may change its address while connected (RFC 9000 9);
    ///   [`PeerAddr`](crate::extract::PeerAddr), rates and trusted proxies use the one of its
    ///   handshake, which it has proved to receive at; a later packet may have any source. Above 64
    ///   concurrent handshakes, new clients must first prove that they receive at the address they
    ///   send from (RFC 9000 8.1.2), so that forged addresses cannot flood the server.
    /// - **Memory.** A connection buffers at most 1 MiB for handlers, 512 KiB of it for one, and 1
    ///   MiB for the client; it has at most 100 concurrent requests. Fields are compressed without
    ///   a dynamic table (RFC 9204 2.1).
    /// - **Connections** above
    ///   [`ServerSettings::max_connections`](crate::ServerSettings::max_connections) are refused
    ///   instead of queued.
    /// - **Silence.** The server sends PING after 10 seconds without a packet, or half of
    ///   [`ServerSettings::idle_timeout`](crate::ServerSettings::idle_timeout) if that is less. A client
    ///   whose own idle time-out is shorter has to send PING while it waits for a response (RFC 9114
    ///   5.1).
    ///
    /// ```
    /// use policy_server::{App, Tls};
    ///
    /// let app = App::new(())
    ///     .public_origin("https://api.shop.example")
    ///     .tls(Tls::files("cert.pem", "key.pem").http3());
    /// ```
    #[cfg(feature = "http3")]
    pub fn http3(mut self) -> Self {
        self.http3 = true;
        self
    }
}
