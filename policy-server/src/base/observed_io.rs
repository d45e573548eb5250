//! A connection that is observed while bytes move.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Hooks that run while bytes move. An error is returned in place of the connection's result.
pub(crate) trait IoObserver {
    /// Called with the bytes that were read, at least one.
    fn after_read(&mut self, bytes: &[u8]) -> io::Result<()>;

    fn before_write(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Called with the number of bytes that were written.
    fn after_write(&mut self, _written: &Poll<io::Result<usize>>) {}

    /// Called before the connection is shut down for writing.
    fn before_shutdown(&mut self) {}
}

/// A connection with its observer.
#[derive(Debug)]
pub(crate) struct ObservedIo<S, O> {
    stream: S,
    pub(crate) observer: O,
}

impl<S, O> ObservedIo<S, O> {
    pub(crate) fn new(stream: S, observer: O) -> Self {
        Self { stream, observer }
    }

    pub(crate) fn get_ref(&self) -> &S {
        &self.stream
    }
}

impl<S: AsyncRead + Unpin, O: IoObserver + Unpin> AsyncRead for ObservedIo<S, O> {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = buffer.filled().get(before..).unwrap_or_default();
        if !read.is_empty() {
            self.observer.after_read(read)?;
        }
        result
    }
}

impl<S: AsyncWrite + Unpin, O: IoObserver + Unpin> AsyncWrite for ObservedIo<S, O> {
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.observer.before_write()?;
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.observer.after_write(&written);
        written
    }

    #[inline]
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.observer.before_write()?;
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.observer.after_write(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.observer.before_shutdown();
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
