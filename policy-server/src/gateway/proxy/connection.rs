//! One connection to an upstream, and the progress of its last exchange.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use hyper_util::client::legacy::connect::{self, Connected};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream with or without TLS.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection to an upstream.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    usage: Usage,
}

/// What was observed on a connection.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    is_http2: bool,
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Whether the upstream has responded on this connection before.
    is_reused: AtomicBool,
    /// Whether a byte was received since the last one was sent.
    is_answered: AtomicBool,
}

impl Usage {
    /// Whether this connection worked before and no byte of a response to the last request arrived:
    /// the upstream then closed it while it was idle. On HTTP/2, bytes may belong to any stream,
    /// but the caller knows that its own request has no response.
    pub(super) fn was_dead(&self) -> bool {
        let is_answered = self.seen.is_answered.load(Relaxed);
        if self.is_http2 { is_answered } else { self.seen.is_reused.load(Relaxed) && !is_answered }
    }
}

impl Connection {
    pub(super) fn new(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        is_http2: bool,
    ) -> Self {
        let usage = Usage { is_http2, seen: Arc::default() };
        Self { stream: Box::new(stream), usage }
    }

    /// Every write begins or continues a request.
    fn note_write(&self) {
        let seen = &self.usage.seen;
        if !self.usage.is_http2 && seen.is_answered.load(Relaxed) {
            seen.is_answered.store(false, Relaxed);
            seen.is_reused.store(true, Relaxed);
        }
    }
}

impl connect::Connection for Connection {
    fn connected(&self) -> Connected {
        let connected = Connected::new().extra(self.usage.clone());
        if self.usage.is_http2 { connected.negotiated_h2() } else { connected }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.usage.seen.is_answered.store(true, Relaxed);
        }
        result
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.note_write();
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.note_write();
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
