//! The limits of connections; every one is on by default.

use std::time::Duration;

/// Limits of connections; those of requests are the app's. Each default is a protection, and each has a reason.
///
/// ```
/// use policy_server::{App, Settings};
/// use std::time::Duration;
///
/// let settings = Settings::default().header_timeout(Duration::from_secs(5)).one_request_per_connection();
/// let app = App::new(()).settings(settings);
/// ```
///
/// # HTTP/2
///
/// Its limits need no setting, since no proper client comes near them: 200 requests at once on a
/// connection, 1 MiB of bodies that nobody has asked for yet, 64 KiB of each answer that the client
/// does not take, 20 requests taken back before they were looked at, 200 streams that had to be
/// reset, and 256 KiB of frames that belong to no request, such as PING and SETTINGS, beyond what
/// requests and their answers warrant. What goes over the first three waits or is refused; over the
/// others a connection ends, and all the others go on. A client that pings and takes nothing is idle.
#[derive(Clone, Debug)]
#[must_use = "settings hold for the app that they are given to"]
pub struct Settings {
    pub(crate) header_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) header_limit: usize,
    pub(crate) max_connections: u32,
    pub(crate) keep_alive: bool,
    pub(crate) shutdown_timeout: Duration,
    pub(crate) drain: Duration,
    pub(crate) per_core: bool,
    pub(crate) shares_port: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            header_limit: 64 * 1024,
            max_connections: 25_000,
            keep_alive: true,
            shutdown_timeout: Duration::from_secs(30),
            drain: Duration::ZERO,
            per_core: false,
            shares_port: false,
        }
    }
}

impl Settings {
    /// The most time until a new connection sends its first byte, and from the first byte of a
    /// head to its last; 10 seconds. A client that sends
    /// a byte a second holds a connection no longer. A connection is closed at most a quarter
    /// of the time later.
    pub fn header_timeout(mut self, timeout: Duration) -> Self {
        self.header_timeout = timeout;
        self
    }

    /// How long a connection may be open without a request in flight, or without a byte moving
    /// while a client does not take its answer; 75 seconds, longer than the pause of a page
    /// that polls once a minute.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// About the most bytes of a head; 64 KiB, and never less than 8 KiB. It bounds a buffer: a
    /// head that arrives at once may be up to twice as long.
    pub fn header_limit(mut self, bytes: usize) -> Self {
        self.header_limit = bytes.max(8 * 1024);
        self
    }

    /// The most connections at once; 25,000. Further ones wait in the kernel's queue.
    pub fn max_connections(mut self, connections: u32) -> Self {
        self.max_connections = connections.max(1);
        self
    }

    /// Closes every HTTP/1.1 connection after one answer.
    pub fn one_request_per_connection(mut self) -> Self {
        self.keep_alive = false;
        self
    }

    /// How long requests in flight may take when the server stops; 30 seconds.
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.shutdown_timeout = timeout;
        self
    }

    /// How long the server goes on as before once it is told to stop, while
    /// [`App::readiness`](crate::App::readiness) says no already; 0 seconds. A load balancer that
    /// asks every 5 seconds and believes the second answer needs 10.
    ///
    /// Then nothing new is accepted, and requests in flight have
    /// [`shutdown_timeout`](Self::shutdown_timeout) to end. A second signal ends nothing sooner.
    pub fn drain(mut self, duration: Duration) -> Self {
        self.drain = duration;
        self
    }

    /// Serves connections by one single-threaded runtime for each core, in place of the runtime
    /// that `serve` is called on. A connection stays on the core that accepted it, and so does
    /// what its handlers spawn. Where it is better, and where it is worse:
    /// [operation](crate::operation#runtimes).
    ///
    /// The cores listen on one port by `SO_REUSEPORT`, so [`shared_port`](Self::shared_port) is
    /// part of it. Only Linux spreads connections over them.
    pub fn per_core(mut self) -> Self {
        self.per_core = true;
        self.shared_port()
    }

    /// Lets further processes of the same user listen on the same port (`SO_REUSEPORT`), such as
    /// the next release, which takes over while this one finishes its requests. Without it a
    /// second process does not start, which tells of a mistake; so this is off.
    pub fn shared_port(mut self) -> Self {
        self.shares_port = true;
        self
    }
}
