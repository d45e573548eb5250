//! An accepted connection below TLS and HTTP: TCP, or a Unix socket.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// An accepted connection, and the bytes read from it before its protocol was known.
#[derive(Debug)]
pub(super) struct Stream {
    transport: Transport,
    /// Bytes that the next read returns first.
    unread: Bytes,
}

#[derive(Debug)]
enum Transport {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Stream {
    /// Sends what is written at once: responses are written whole, so Nagle's algorithm would only
    /// delay them.
    pub(super) fn without_delay(self) -> Self {
        match &self.transport {
            Transport::Tcp(stream) => drop(stream.set_nodelay(true)),
            #[cfg(unix)]
            Transport::Unix(_) => (),
        }
        self
    }

    /// The next bytes, which stay unread; none if the peer has closed the connection.
    ///
    /// For TCP, the kernel supports this. The bytes of a Unix socket are read and kept here.
    pub(super) async fn peek(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.transport {
            Transport::Tcp(stream) => stream.peek(buffer).await,
            #[cfg(unix)]
            Transport::Unix(stream) => {
                if self.unread.is_empty() {
                    let len = tokio::io::AsyncReadExt::read(stream, buffer).await?;
                    self.unread = Bytes::copy_from_slice(buffer.get(..len).unwrap_or_default());
                }
                let len = self.unread.len().min(buffer.len());
                let (peeked, _) = buffer.split_at_mut(len);
                peeked.copy_from_slice(&self.unread.slice(..len));
                Ok(len)
            }
        }
    }

    /// Puts bytes back, for the next read to return them.
    pub(super) fn put_back(&mut self, bytes: &'static [u8]) {
        self.unread = match &*self.unread {
            [] => Bytes::from_static(bytes),
            unread => [bytes, unread].concat().into(),
        };
    }

    /// Ready when there is something to read, or the peer has closed the connection.
    pub(super) fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.transport {
            Transport::Tcp(stream) => stream.poll_read_ready(context),
            #[cfg(unix)]
            Transport::Unix(stream) => stream.poll_read_ready(context),
        }
    }
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        Self { transport: Transport::Tcp(stream), unread: Bytes::new() }
    }
}

#[cfg(unix)]
impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        Self { transport: Transport::Unix(stream), unread: Bytes::new() }
    }
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.unread.is_empty() {
            let len = self.unread.len().min(buffer.remaining());
            buffer.put_slice(&self.unread.split_to(len));
            return Poll::Ready(Ok(()));
        }
        match &mut self.transport {
            Transport::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            #[cfg(unix)]
            Transport::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

/// Implements writing by the stream in an enum, or in an enum in a field.
macro_rules! write_with_either {
    ($type:ident $(.$field:ident)?, $($(#[$cfg:meta])? $variant:path),*) => {
        impl AsyncWrite for $type {
            #[inline]
            fn poll_write(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                match &mut self.get_mut()$(.$field)? {
                    $($(#[$cfg])? $variant(stream) => Pin::new(stream).poll_write(context, bytes),)*
                }
            }

            #[inline]
            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                bytes: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                match &mut self.get_mut()$(.$field)? {
                    $($(#[$cfg])? $variant(stream) => {
                        Pin::new(stream).poll_write_vectored(context, bytes)
                    })*
                }
            }

            fn is_write_vectored(&self) -> bool {
                match &self$(.$field)? {
                    $($(#[$cfg])? $variant(stream) => stream.is_write_vectored(),)*
                }
            }

            fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                match &mut self.get_mut()$(.$field)? {
                    $($(#[$cfg])? $variant(stream) => Pin::new(stream).poll_flush(context),)*
                }
            }

            fn poll_shutdown(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<io::Result<()>> {
                match &mut self.get_mut()$(.$field)? {
                    $($(#[$cfg])? $variant(stream) => Pin::new(stream).poll_shutdown(context),)*
                }
            }
        }
    };
}
pub(super) use write_with_either;

write_with_either!(
    Stream.transport,
    Transport::Tcp,
    #[cfg(unix)]
    Transport::Unix
);
