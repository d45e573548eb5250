//! HTTPS for an app: where its certificate is, and what is served beside it.

use std::{path::PathBuf, time::Duration};

/// HTTPS for an app: its certificate, and what is served beside it.
///
/// It speaks TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1 as the client prefers (ALPN, RFC 7301), and
/// resumes sessions by tickets, whose keys change every six hours and never leave the process.
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

/// Where a certificate is.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Files { certificate: PathBuf, key: PathBuf },
    Development { folder: PathBuf },
}

impl Tls {
    /// A certificate with those that signed it behind it, and its key, in PEM files. They may be
    /// one file.
    ///
    /// The files are looked at every 30 seconds, and on SIGHUP where there are signals. A new
    /// certificate holds for connections that begin; what runs goes on. One with which the app
    /// would not start is logged as an error, and the one before stays.
    pub fn files(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        let (certificate, key) = (certificate.into(), key.into());
        Self::of(Source::Files { certificate, key })
    }

    /// A certificate for `localhost`, `127.0.0.1`, `::1` and the host of the public origin, which
    /// is made when there is none in the folder, and anew in the month before it expires.
    ///
    /// Browsers and clients trust it by `authority.pem`, which stands beside it: as
    /// `curl --cacert authority.pem https://localhost:8443/`. The key of that authority is
    /// forgotten at once, so it vouches for nothing else. The key of the certificate can be read by
    /// its owner alone.
    pub fn development(folder: impl Into<PathBuf>) -> Self {
        Self::of(Source::Development { folder: folder.into() })
    }

    fn of(source: Source) -> Self {
        Self {
            source,
            reload: Duration::from_secs(30),
            redirect: None,
            #[cfg(feature = "http3")]
            http3: false,
        }
    }

    /// How often the files are looked at; every 30 seconds.
    pub fn reload_every(mut self, interval: Duration) -> Self {
        self.reload = interval.max(Duration::from_millis(10));
        self
    }

    /// Listens on a second address, and answers each request over plain HTTP there with 308 to the
    /// same path and query of the public origin, or of `https://localhost` and the port that was
    /// bound in development. What a request says of its host never leads anywhere. Without a port
    /// the address has 80.
    ///
    /// Preflights, WebSockets, `OPTIONS *` and CONNECT are not led on: they get 421.
    pub fn redirect_http(mut self, address: impl Into<String>) -> Self {
        self.redirect = Some(address.into());
        self
    }

    /// Serves HTTP/3 too (RFC 9114), over QUIC (RFC 9000) at the UDP port of the same number, and
    /// announces it by `Alt-Svc` (RFC 7838) in every answer over TLS. What leads to the server has
    /// to pass UDP on, too, at the port of the public origin.
    ///
    /// It is the same app with the same limits. What is its own:
    ///
    /// - **Early data.** A client that was here before may send requests with its first packet,
    ///   before the handshake is complete. Whoever copied that packet can send it again, so only
    ///   safe methods on routes that ask nobody who they are get an answer to it; all others get
    ///   425, and clients send them once more after the handshake (RFC 8470). Handlers and
    ///   proxies see the field `Early-Data: 1`.
    /// - **Addresses.** A client may change its own while it is connected (RFC 9000 9);
    ///   [`PeerAddr`](crate::extract::PeerAddr) is the one at the time of the request. With 64
    ///   handshakes under way, new clients have to show first that they receive at the address
    ///   that they send from (RFC 9000 8.1.2), so that nobody can flood the server under a
    ///   forged one.
    /// - **Memory.** Of a connection at most 1 MiB waits for handlers, 512 KiB of it for one, and
    ///   1 MiB for the client; it has at most 100 requests at a time. Fields are compressed
    ///   without a dynamic table (RFC 9204 2.1).
    /// - **Connections** above [`Settings::max_connections`](crate::Settings::max_connections)
    ///   are refused: there is no queue for them.
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
