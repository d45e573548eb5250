//! The transport of a connection.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
#[cfg(feature = "tls")]
use tokio_rustls::server::TlsStream;

use super::stream::{Stream, write_with_either};

/// A connection with or without TLS, as one type, so that everything above is compiled once.
#[derive(Debug)]
pub(super) enum Socket {
    Plain(Stream),
    #[cfg(feature = "tls")]
    Tls(Box<TlsStream<Stream>>),
}

impl Socket {
    /// Ready when there is something to read, or the peer has closed the connection. What TLS has
    /// decrypted already does not count.
    pub(super) fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => stream.poll_read_ready(context),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => stream.get_ref().0.poll_read_ready(context),
        }
    }

    pub(super) fn is_tls(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            #[cfg(feature = "tls")]
            Self::Tls(_) => true,
        }
    }
}

impl AsyncRead for Socket {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            #[cfg(feature = "tls")]
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

write_with_either!(
    Socket,
    Socket::Plain,
    #[cfg(feature = "tls")]
    Socket::Tls
);
