//! A socket that records when bytes move.

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
    h2_frames::Frames,
    socket::Socket,
};

/// The socket of a connection. It holds the connection's permit, so that an upgraded connection,
/// which outlives its task, still counts.
#[derive(Debug)]
pub(super) struct MonitoredIo {
    stream: Socket,
    activity: Arc<Activity>,
    /// For HTTP/2, where not all bytes belong to requests.
    frames: Option<Box<Frames>>,
    _permit: OwnedSemaphorePermit,
}

impl MonitoredIo {
    pub(super) fn new(
        stream: Socket,
        activity: Arc<Activity>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self { stream, activity, frames: None, _permit: permit }
    }

    /// The same, for an HTTP/2 connection.
    pub(super) fn in_frames(self) -> Self {
        Self { frames: Some(Box::new(Frames::new())), ..self }
    }

    fn note_read(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(frames) = &mut self.frames else {
            self.activity.read();
            return Ok(());
        };
        let weight = frames.read(bytes);
        if frames.are_too_many() {
            return Err(flooded());
        }
        if weight.useful > 0 {
            self.activity.read();
        }
        self.activity.owes(weight.overhead);
        Ok(())
    }

    fn note_write(&mut self, result: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &result {
            Poll::Pending => self.activity.waits_to_write(),
            Poll::Ready(written) => {
                let written = *written.as_ref().unwrap_or(&0);
                self.activity.wrote(written);
                if let Some(frames) = &mut self.frames {
                    frames.wrote(written);
                }
            }
        }
        result
    }
}

/// Closes a connection whose client floods it with frames that belong to no request (RFC 9113
/// 10.5).
fn flooded() -> io::Error {
    io::Error::other("too many frames that belong to no request")
}

/// The read error of an upgraded connection whose credential has ended.
fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the credential of this connection ended")
}

impl AsyncRead for MonitoredIo {
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
        let read = buffer.filled().get(before..).unwrap_or_default();
        if !read.is_empty() {
            self.note_read(read)?;
        }
        result
    }
}

impl AsyncWrite for MonitoredIo {
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
