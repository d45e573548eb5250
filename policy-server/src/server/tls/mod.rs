//! TLS: certificate files and handshakes.

mod certificates;
mod development;
mod pair;

use std::path::{Path, PathBuf};

use tokio_rustls::TlsAcceptor;

use super::{connection::Protocol, socket::Socket, stream::Stream};
use crate::{
    app::tls::Source,
    base::event::count::{Count, count},
};

pub(super) use certificates::Certificates;

impl Source {
    /// The files of the certificate and of its key.
    fn paths(&self) -> (PathBuf, PathBuf) {
        match self {
            Self::Files { certificate, key } => (certificate.clone(), key.clone()),
            Self::Development { folder } => {
                let pair = development::pair(folder);
                (pair.clone(), pair)
            }
        }
    }

    fn folder(&self) -> Option<&Path> {
        match self {
            Self::Files { .. } => None,
            Self::Development { folder } => Some(folder),
        }
    }
}

/// The TLS handshake, and the HTTP version that it negotiated. A client without ALPN uses HTTP/1.1
/// (RFC 9113 3.3).
pub(super) async fn handshake(
    acceptor: &TlsAcceptor,
    stream: Stream,
) -> Option<(Socket, Protocol)> {
    let mut outcome = HandshakeOutcome::default();
    // Boxed, since the task of every connection would otherwise be that much larger.
    match Box::pin(acceptor.accept(stream)).await {
        Ok(stream) => {
            outcome.complete();
            let protocol = match stream.get_ref().1.alpn_protocol() {
                Some(b"h2") => Protocol::Http2,
                _ => Protocol::Http1,
            };
            Some((Socket::Tls(Box::new(stream)), protocol))
        }
        Err(error) => {
            tracing::debug!(%error, "handshake failed");
            None
        }
    }
}

/// Counts a handshake as failed when it is dropped before it is complete, as by a time-out or a
/// stop.
#[derive(Debug, Default)]
pub(super) struct HandshakeOutcome {
    is_complete: bool,
}

impl HandshakeOutcome {
    pub(super) fn complete(&mut self) {
        self.is_complete = true;
    }
}

impl Drop for HandshakeOutcome {
    fn drop(&mut self) {
        if !self.is_complete {
            count(Count::HandshakeFailed);
        }
    }
}
