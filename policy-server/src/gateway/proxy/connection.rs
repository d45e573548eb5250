//! One connection to an upstream, and the progress of its last exchange.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    task::Waker,
};

use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::base::observed_io::{IoObserver, ObservedIo};

/// A stream with or without TLS.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection to an upstream.
pub(super) type Connection = ObservedIo<Box<dyn Stream>, Usage>;

/// Counts the requests on a shared connection by its references: a request holds one from the choice
/// of the connection to the end of its response.
pub(super) type StreamCount = Arc<()>;

pub(super) fn connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    is_http2: bool,
) -> Connection {
    ObservedIo::new(Box::new(stream), Usage { is_http2, flags: Arc::default() })
}

/// The observations on a connection.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    is_http2: bool,
    flags: Arc<UsageFlags>,
}

#[derive(Debug, Default)]
struct UsageFlags {
    /// Whether the upstream has responded on this connection before.
    is_reused: AtomicBool,
    /// Whether a byte was received since the last one was sent; used before HTTP/2 only.
    is_answered: AtomicBool,
    /// How many streams the upstream allows at once, as of the last request; a default of hyper
    /// before the first response. Used over HTTP/2 only.
    allowed_streams: AtomicUsize,
    /// The task that reads this number; used over HTTP/2 only.
    driver: AtomicWaker,
}

impl Usage {
    pub(super) fn is_http2(&self) -> bool {
        self.is_http2
    }

    /// The upstream allows this many streams at once (RFC 9113 5.1.2).
    pub(super) fn allow_streams(&self, allowed: usize) {
        self.flags.allowed_streams.store(allowed, Relaxed);
    }

    pub(super) fn allowed_streams(&self) -> usize {
        self.flags.allowed_streams.load(Relaxed)
    }

    /// The task that calls [`Self::allow_streams`].
    pub(super) fn register_driver(&self, waker: &Waker) {
        self.flags.driver.register(waker);
    }

    /// A response has arrived on this connection.
    pub(super) fn note_response(&self) {
        if !self.flags.is_reused.swap(true, Relaxed) {
            // SETTINGS came before it (RFC 9113 3.4). hyper reads them in another task.
            self.flags.driver.wake();
        }
    }

    /// Whether a connection that ended had worked before and no byte of a response to the last
    /// request arrived: the upstream then closed it while it was idle. On HTTP/2, bytes may belong
    /// to any stream, but the caller knows that its own request has no response.
    pub(super) fn was_dead(&self) -> bool {
        let is_answered = !self.is_http2 && self.flags.is_answered.load(Relaxed);
        self.flags.is_reused.load(Relaxed) && !is_answered
    }
}

impl IoObserver for Usage {
    fn after_read(&mut self, _bytes: &[u8]) -> io::Result<()> {
        self.flags.is_answered.store(true, Relaxed);
        Ok(())
    }

    /// Every write begins or continues a request.
    fn before_write(&mut self) -> io::Result<()> {
        self.flags.is_answered.store(false, Relaxed);
        Ok(())
    }
}
