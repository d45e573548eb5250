//! TLS: the files of a certificate, and how a connection begins.

mod certificates;
mod development;
mod pair;

use std::path::{Path, PathBuf};

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::{connection::Protocol, socket::Socket};
use crate::app::tls::Source;

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

/// The beginning of a connection, and the version of HTTP that was agreed on. A client that says
/// nothing of it speaks HTTP/1.1 (RFC 9113 3.3).
pub(super) async fn handshake(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
) -> Option<(Socket, Protocol)> {
    // In a box, since the task of every connection would keep room for it.
    match Box::pin(acceptor.accept(stream)).await {
        Ok(stream) => {
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
