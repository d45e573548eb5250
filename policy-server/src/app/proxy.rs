//! Another server behind a prefix of an app's paths.

use std::{path::PathBuf, time::Duration};

use http::Method;

use super::{
    access::{Access, access_methods},
    mount::paths::{MountedPaths, path_methods},
    policies::Policies,
};

/// A reverse proxy: another server behind a prefix of this app, so that an API and its pages share
/// one origin.
///
/// ```no_run
/// use policy_server::{ReverseProxy, prelude::*};
///
/// # async fn serve() -> Result<(), Error> {
/// App::new(())
///     .proxy(ReverseProxy::new("/api", "http://127.0.0.1:9000").strip_prefix().public())
///     .serve("127.0.0.1:8080")
///     .await
/// # }
/// ```
///
/// A request for `/api/orders?page=2` goes to `http://127.0.0.1:9000/orders?page=2`. The proxy
/// connects on the first request.
///
/// As for a [`Mount`](crate::Mount), the proxy, its group or its app has to state who may call it.
///
/// # What is forwarded
///
/// - **Bodies** stream in both directions with backpressure and are never buffered whole. Trailers
///   are forwarded, except for those that repeat a header of the request. If the client disconnects,
///   its request to the upstream is cancelled; if the upstream disconnects within a response, the
///   response is cut off.
/// - **Paths** in their [normal form](policy_core::head::NormalPath), without the prefix, and queries
///   byte for byte. A dot segment, however often it is encoded, is refused with 400, as is an
///   encoded slash without [`encoded_slashes`](Self::encoded_slashes). Nothing in a request can
///   choose the host, the port or the base path.
/// - **Headers** except those of the connection (RFC 9110 7.6.1). `Host` is the upstream's;
///   `Forwarded`, `X-Forwarded-For`, `-Host` and `-Proto` are written anew from what this server
///   knows, whatever a client sent; `Via` gets an entry.
/// - **`Authorization`** unchanged. The upstream can verify a token that [`auth`](Self::auth)
///   required here, or use its own kind of credential.
/// - **Cookies** except that of this app's [`Sessions`](crate::Sessions), unless
///   [`forward_session`](Self::forward_session) is set.
/// - **WebSockets** over HTTP/1.1, if the page's origin may open one (RFC 6455 10.2); no other
///   upgrade, and no handshake with content. With a cookie, or an `Authorization` other than a bearer
///   token, a page of another origin needs a CORS policy with credentials. Their limits are those of
///   [`limit`](macro@crate::limit).
///
/// # What is changed in responses
///
/// - `Location` and `Content-Location` that name the upstream become paths below the prefix.
/// - `Set-Cookie` is restricted to this host and to paths below the prefix. The upstream cannot set
///   this app's session cookie. A name that begins with `__Host-` requires `Path=/` and keeps it.
/// - `Access-Control-*` comes from the policy set here, as on every other route. Security headers
///   of the upstream are kept; `Alt-Svc` is removed.
/// - If the upstream sends no valid response, the client gets 502 (`proxy.unreachable`,
///   `proxy.bad-answer`) or 504 (`proxy.timed-out`). A response whose end is ambiguous (RFC 9112 6.3)
///   is not valid.
///
/// A request without a body is sent a second time if the upstream refused it over HTTP/2 (RFC 9113
/// 8.7), or if its method is idempotent (RFC 9110 9.2.2) and a pooled connection turns out to be dead
/// before the response began. No other request is repeated.
///
/// # Limits
///
/// The limits of the app apply. By default a body has at most 2 MiB, and the head of a response
/// must arrive within 30 seconds. Uploads and long polls need others:
///
/// ```
/// use policy_server::{ReverseProxy, prelude::*};
/// use std::time::Duration;
///
/// let limits = Limits::NONE.body(10 << 30).timeout(Duration::from_secs(3600));
/// let uploads = ReverseProxy::new("/files", "https://files.internal:9000")
///     .policies(Policies::new().limits(limits))
///     .answer_timeout(Duration::from_secs(60))
///     .auth(AuthRequirement::session());
/// ```
///
/// The total duration of a response is not limited as long as bytes arrive: see
/// [`idle_timeout`](Self::idle_timeout).
#[derive(Clone, Debug)]
#[must_use = "a proxy does nothing outside of an app"]
pub struct ReverseProxy {
    pub(crate) prefix: String,
    pub(crate) upstream: String,
    pub(crate) strips: bool,
    pub(crate) is_http2: bool,
    pub(crate) root_certificates: Option<PathBuf>,
    pub(crate) forwards_session: bool,
    pub(crate) methods: Vec<Method>,
    pub(crate) paths: MountedPaths,
    pub(crate) timeouts: Timeouts,
    pub(crate) access: Access,
    pub(crate) policies: Policies,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) connect: Duration,
    pub(crate) response: Duration,
    pub(crate) idle: Duration,
}

impl ReverseProxy {
    /// Forwards everything below `prefix`, such as `/api`, to `upstream`, such as
    /// `http://127.0.0.1:9000` or `https://api.internal/v1`, with its whole path.
    ///
    /// Over `https` it uses HTTP/2 if the upstream supports that. Requests share a connection, and a
    /// further one is opened when the upstream allows no more streams on it. The certificate of the upstream has to
    /// be issued by an authority that browsers trust, or by one of
    /// [`root_certificates`](Self::root_certificates).
    pub fn new(prefix: impl Into<String>, upstream: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            upstream: upstream.into(),
            strips: false,
            is_http2: false,
            root_certificates: None,
            forwards_session: false,
            methods: vec![
                Method::GET,
                Method::HEAD,
                Method::POST,
                Method::PUT,
                Method::PATCH,
                Method::DELETE,
                Method::QUERY,
                Method::OPTIONS,
            ],
            paths: MountedPaths::default(),
            timeouts: Timeouts {
                connect: Duration::from_secs(5),
                response: Duration::from_secs(20),
                idle: Duration::from_secs(60),
            },
            access: Access::default(),
            policies: Policies::default(),
        }
    }

    /// Removes the prefix: `/api/orders` is `/orders` at the upstream.
    pub fn strip_prefix(mut self) -> Self {
        self.strips = true;
        self
    }

    /// Uses only HTTP/2 with the upstream: over `http` with prior knowledge (RFC 9113 3.3).
    /// WebSockets still get an HTTP/1.1 connection.
    pub fn http2(mut self) -> Self {
        self.is_http2 = true;
        self
    }

    /// Trusts the CA certificates in this PEM file, which is read at start, in place of the public
    /// web's.
    pub fn root_certificates(mut self, pem: impl Into<PathBuf>) -> Self {
        self.root_certificates = Some(pem.into());
        self
    }

    /// Forwards this app's session cookie. The upstream can then act as its user.
    pub fn forward_session(mut self) -> Self {
        self.forwards_session = true;
        self
    }

    /// Forwards these methods, in place of GET, HEAD, POST, PUT, PATCH, DELETE, QUERY and OPTIONS.
    /// The CORS policy responds to preflights.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.methods = methods.into_iter().collect();
        self
    }

    /// How long connecting to the upstream may take, TLS included; 5 seconds. If its host has several
    /// addresses, the next one is tried after 250 ms, or sooner if the time is short.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.connect = timeout;
        self
    }

    /// How long the upstream may take to begin its response once it has the request; 20 seconds.
    /// That is less than the app's own time-out, so that the client gets the 504 that names the
    /// upstream.
    pub fn answer_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.response = timeout;
        self
    }

    /// How long either side may pause within a body; by default 60 seconds. For WebSockets,
    /// `silence` of the [`limits`](Policies::limits) applies.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.idle = timeout;
        self
    }

    access_methods!();
    path_methods!();
}
