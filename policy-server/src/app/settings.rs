//! The limits of connections, and further settings of a server. All have defaults.

use std::time::Duration;

use http::HeaderValue;

/// Limits of connections, and a few choices; the limits of requests belong to the app and its
/// routes. Each default protects against one way to exhaust the server.
///
/// ```
/// use policy_server::{App, ServerSettings};
/// use std::time::Duration;
///
/// let settings = ServerSettings::default().header_timeout(Duration::from_secs(5));
/// let settings = settings.one_request_per_connection();
/// let app = App::new(()).settings(settings);
/// ```
///
/// # HTTP/2
///
/// It is served over TLS (feature `tls`), and without TLS to clients with prior knowledge (feature
/// `http2`); with neither, such a client gets the error `HTTP_1_1_REQUIRED`.
///
/// These limits are fixed, since no well-behaved client reaches them. Per connection: 200
/// concurrent requests, 1 MiB of body data that no handler has read yet, 64 KiB per response that
/// the client has not read (more of it waits in the handler's body, which
/// [`max_unsent_per_connection`](Self::max_unsent_per_connection) bounds), 20 requests cancelled before
/// they were processed, 200 streams that had to be reset, and 256 KiB of frames that belong to no
/// request, such as PING and SETTINGS, beyond what requests and their responses account for. Above
/// the first three, data waits or is refused. Above the others the connection is closed; other
/// connections are not affected. A client that only sends PING and reads nothing counts as idle.
#[derive(Clone, Debug)]
#[must_use = "settings hold for the app that they are given to"]
pub struct ServerSettings {
    pub(crate) header_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) min_read_rate: u32,
    pub(crate) max_unsent_per_connection: usize,
    pub(crate) max_unsent_total: usize,
    pub(crate) header_limit: usize,
    pub(crate) max_connections: u32,
    pub(crate) keep_alive: bool,
    pub(crate) shutdown_timeout: Duration,
    pub(crate) drain: Duration,
    #[cfg(feature = "per_core")]
    pub(crate) per_core: bool,
    pub(crate) shares_port: bool,
    pub(crate) server_header: Option<HeaderValue>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            min_read_rate: 64,
            max_unsent_per_connection: 16 << 20,
            max_unsent_total: 256 << 20,
            header_limit: 64 * 1024,
            max_connections: 25_000,
            keep_alive: true,
            shutdown_timeout: Duration::from_secs(30),
            drain: Duration::ZERO,
            #[cfg(feature = "per_core")]
            per_core: false,
            shares_port: false,
            server_header: None,
        }
    }
}

impl ServerSettings {
    /// The longest time until a new connection sends its first byte, and from the first to the last
    /// byte of a head; 10 seconds. Sending a byte a second does not extend it. The connection is
    /// closed at most a quarter of the time later. Zero stops the start.
    pub fn header_timeout(mut self, timeout: Duration) -> Self {
        self.header_timeout = timeout;
        self
    }

    /// How long a connection may be open without a request in flight, or without progress while the
    /// client does not read its response; 75 seconds, which is longer than the pause of a page that
    /// polls once a minute. After a quarter to a half of that time, an HTTP/1.1 connection between
    /// two requests releases its buffers. Zero stops the start.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// The minimum number of bytes of responses that a client has to read each second while bytes
    /// wait for it; 64. A connection that is below this for the whole
    /// [`idle_timeout`](Self::idle_timeout) is closed. Streams that have nothing to send are not
    /// affected. Reads from the kernel's buffers are not visible: a client counts as reading when the
    /// kernel accepts more.
    pub fn min_read_rate(mut self, bytes_per_second: u32) -> Self {
        self.min_read_rate = bytes_per_second;
        self
    }

    /// The memory limit of unread responses on one connection, above which further requests on the
    /// connection wait; 16 MiB.
    ///
    /// Only frames of more than 64 KiB that this response alone holds count, such as a whole body in
    /// memory. A stream of small frames, static data, shared data (`Bytes::is_unique`) and mapped files
    /// do not count. Requests that already run are not stopped, and their responses are added.
    pub fn max_unsent_per_connection(mut self, bytes: usize) -> Self {
        self.max_unsent_per_connection = bytes.max(1);
        self
    }

    /// The memory of responses that clients of all connections together have not read; 256 MiB. Above
    /// it connections are closed: first those above
    /// [`max_unsent_per_connection`](Self::max_unsent_per_connection), then those whose clients have not
    /// read a frame for the longest time. A single response is not closed for its size.
    pub fn max_unsent_total(mut self, bytes: usize) -> Self {
        self.max_unsent_total = bytes;
        self
    }

    /// The approximate maximum size of a head in bytes; 64 KiB, and never less than 8 KiB. It
    /// bounds a buffer: a head that arrives at once may be up to twice as long.
    pub fn header_limit(mut self, bytes: usize) -> Self {
        self.header_limit = bytes.max(8 * 1024);
        self
    }

    /// The maximum number of concurrent connections; 25,000. Further ones wait in the kernel's
    /// queue. Each needs a file descriptor: if the process may have fewer, a notice at start
    /// reports it in production.
    pub fn max_connections(mut self, connections: u32) -> Self {
        self.max_connections = connections.max(1);
        self
    }

    /// Closes every connection of HTTP/1.1 and HTTP/3 after one response. Connections of HTTP/2 serve
    /// further requests.
    pub fn one_request_per_connection(mut self) -> Self {
        self.keep_alive = false;
        self
    }

    /// How long requests in flight may take when the server stops; 30 seconds.
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.shutdown_timeout = timeout;
        self
    }

    /// How long the server still accepts requests after it is asked to stop, while
    /// [`App::readiness`](crate::App::readiness) already reports 503; 0 seconds. A load balancer
    /// that probes every 5 seconds and acts on the second failure needs 10.
    ///
    /// After that, no client can connect. Requests in flight, and those of clients that had connected,
    /// have [`shutdown_timeout`](Self::shutdown_timeout) to complete. A second signal does not shorten
    /// this.
    pub fn drain(mut self, duration: Duration) -> Self {
        self.drain = duration;
        self
    }

    /// Serves connections on one single-threaded runtime per core, in place of the runtime that
    /// `serve` is called on. A connection and the tasks that its handlers spawn stay on the core
    /// that accepted it. [Operation](crate::guide::operation#runtimes) describes the advantages and
    /// disadvantages.
    ///
    /// The cores share one port by `SO_REUSEPORT`, so this includes
    /// [`shared_port`](Self::shared_port). Only Linux distributes connections over them.
    #[cfg(feature = "per_core")]
    pub fn per_core(mut self) -> Self {
        self.per_core = true;
        self.shared_port()
    }

    /// Lets other processes of the same user listen on the same port (`SO_REUSEPORT`), such as the
    /// next release, which takes over while this one completes its requests. It is off by default,
    /// since a second process on the same port is usually a mistake. One process at a time serves
    /// HTTP/3: the next one begins when this one has ended; its clients use HTTP/2 until then.
    pub fn shared_port(mut self) -> Self {
        self.shares_port = true;
        self
    }

    /// The `Server` header (RFC 9110 10.2.4) of every response that has none: a handler may set
    /// another, and an upstream's is passed on. None by default, since a name and a version help
    /// attackers choose an exploit.
    ///
    /// ```
    /// use policy_server::{ServerSettings, http::HeaderValue};
    ///
    /// let settings = ServerSettings::default().server_header(HeaderValue::from_static("shop"));
    /// ```
    pub fn server_header(mut self, value: HeaderValue) -> Self {
        self.server_header = Some(value);
        self
    }
}
