//! A socket that notes when bytes move.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::OwnedSemaphorePermit,
};

use super::{
    activity::{Activity, Side},
    socket::Socket,
};

/// The socket of a connection. It holds the connection's permit, so that an upgraded one, which
/// outlives its task, still counts.
#[derive(Debug)]
pub(super) struct Watched {
    stream: Socket,
    activity: Arc<Activity>,
    _permit: OwnedSemaphorePermit,
}

impl Watched {
    pub(super) fn new(
        stream: Socket,
        activity: Arc<Activity>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self { stream, activity, _permit: permit }
    }

    fn note_write<T>(&self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.activity.wrote(result.is_pending());
        result
    }
}

/// What the owner of an upgraded connection reads when the credential that opened it has ended.
fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the credential of this connection ended")
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.activity.is_cut(Side::Read, context) {
            return Poll::Ready(Err(ended()));
        }
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.activity.read();
        }
        result
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.activity.is_cut(Side::Write, context) {
            return Poll::Ready(Err(ended()));
        }
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note_write(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.activity.is_cut(Side::Write, context) {
            return Poll::Ready(Err(ended()));
        }
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.note_write(result)
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
