//! Another server behind a prefix of an app's paths.

use std::{path::PathBuf, time::Duration};

use http::Method;

use super::defaults::{Defaults, policy_methods};

/// Another server behind a prefix of this one's paths: an API and its pages become one origin.
///
/// ```no_run
/// use policy_server::{Proxy, prelude::*};
///
/// # async fn serve() -> Result<(), Error> {
/// App::new(())
///     .proxy(Proxy::new("/api", "http://127.0.0.1:9000").strip_prefix())
///     .serve("127.0.0.1:8080")
///     .await
/// # }
/// ```
///
/// A request for `/api/orders?page=2` goes to `http://127.0.0.1:9000/orders?page=2`. Nothing is
/// connected to before the first request.
///
/// # What is passed on
///
/// - **Bodies** stream both ways and are never collected: whoever is slower sets the pace. Trailers
///   are passed on. A client that goes away ends its request at the upstream; an upstream that
///   breaks off within an answer breaks the answer off.
/// - **Paths and queries** byte for byte, but for the prefix. A dot segment, encoded however often,
///   is refused with 400. Nothing in a request chooses the host, the port or the base path.
/// - **Fields** but for those about the connection (RFC 9110 7.6.1). `Host` is the upstream's;
///   `Forwarded`, `X-Forwarded-For`, `-Host` and `-Proto` say what this server knows, whatever a
///   client wrote there; `Via` gets an entry.
/// - **`Authorization`** as it is: it is for the upstream, which no rule of this app stands before.
/// - **Cookies** but for the one of this app's [`Sessions`](crate::Sessions), unless
///   [`forward_session`](Self::forward_session) says so.
/// - **WebSockets** over HTTP/1.1, where the page may open one (RFC 6455 10.2); no other upgrade.
///
/// # What comes back
///
/// - `Location` and `Content-Location` that name the upstream become paths below the prefix.
/// - `Set-Cookie` is for this host alone and for paths below the prefix. The session's name is not
///   an upstream's to set. A name that begins with `__Host-` demands `Path=/`, and keeps it.
/// - `Access-Control-*` is the policy's that is stated here, as for every other route; security
///   fields of the upstream stay, and `Alt-Svc` goes.
/// - 502 (`proxy.unreachable`, `proxy.bad-answer`) and 504 (`proxy.timed-out`) in place of an answer
///   that does not come.
///
/// A request without a body, of a method that can be repeated (RFC 9110 9.2.2), is sent once more
/// where a connection that was kept turns out to be dead before the answer began. Nothing else is
/// ever sent twice.
///
/// # Limits
///
/// Those of the app hold: without any, a body has at most 2 MiB, and the head of an answer is
/// there within 30 seconds. Uploads and long polls need other ones:
///
/// ```
/// use policy_server::{Proxy, prelude::*};
/// use std::time::Duration;
///
/// let uploads = Proxy::new("/files", "https://files.internal:9000")
///     .limits(Limits::NONE.body(10 << 30).timeout(Duration::from_secs(3600)))
///     .answer_timeout(Duration::from_secs(60));
/// ```
///
/// How long an answer then takes is not limited, as long as its bytes come:
/// [`idle_timeout`](Self::idle_timeout).
#[derive(Clone, Debug)]
#[must_use = "a proxy does nothing outside of an app"]
pub struct Proxy {
    pub(crate) prefix: String,
    pub(crate) upstream: String,
    pub(crate) strips: bool,
    pub(crate) is_http2: bool,
    pub(crate) authority: Option<PathBuf>,
    pub(crate) forwards_session: bool,
    pub(crate) methods: Vec<Method>,
    pub(crate) timeouts: Timeouts,
    pub(crate) defaults: Defaults,
}

/// How long an upstream may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) connect: Duration,
    pub(crate) answer: Duration,
    pub(crate) idle: Duration,
}

impl Proxy {
    /// Passes everything below `prefix`, such as `/api`, on to `upstream`, such as
    /// `http://127.0.0.1:9000` or `https://api.internal/v1`, with its whole path.
    ///
    /// Over `https` the upstream is spoken to in HTTP/2 if it likes that, and its certificate has
    /// to be of an authority that browsers trust, or of [`authority`](Self::authority).
    pub fn new(prefix: impl Into<String>, upstream: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            upstream: upstream.into(),
            strips: false,
            is_http2: false,
            authority: None,
            forwards_session: false,
            methods: vec![
                Method::GET,
                Method::HEAD,
                Method::POST,
                Method::PUT,
                Method::PATCH,
                Method::DELETE,
                Method::OPTIONS,
            ],
            timeouts: Timeouts {
                connect: Duration::from_secs(5),
                answer: Duration::from_secs(20),
                idle: Duration::from_secs(60),
            },
            defaults: Defaults::default(),
        }
    }

    /// Leaves the prefix away: `/api/orders` is `/orders` there.
    pub fn strip_prefix(mut self) -> Self {
        self.strips = true;
        self
    }

    /// Speaks HTTP/2 with the upstream, and nothing else: over `http` without asking before
    /// (RFC 9113 3.3). WebSockets get a connection of HTTP/1.1 all the same.
    pub fn http2(mut self) -> Self {
        self.is_http2 = true;
        self
    }

    /// Trusts the certificates in this PEM file, which is read at start, in place of those of the
    /// web.
    pub fn authority(mut self, pem: impl Into<PathBuf>) -> Self {
        self.authority = Some(pem.into());
        self
    }

    /// Sends the cookie of this app's sessions to the upstream, which can act as its user then.
    pub fn forward_session(mut self) -> Self {
        self.forwards_session = true;
        self
    }

    /// The methods that are passed on, in place of GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS.
    /// Preflights are answered by the policy.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.methods = methods.into_iter().collect();
        self
    }

    /// How long it may take until the upstream is connected to, TLS included; 5 seconds.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.connect = timeout;
        self
    }

    /// How long the upstream may take to begin its answer once it has the request; 20 seconds,
    /// which is less than the app gives an answer, so that the client learns who was late.
    pub fn answer_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.answer = timeout;
        self
    }

    /// How long either side may pause within a body; 60 seconds. WebSockets may be quiet for
    /// longer.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.idle = timeout;
        self
    }

    policy_methods!(defaults, "its answers");
}
