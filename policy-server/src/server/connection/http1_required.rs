//! The response to an HTTP/2 client where only HTTP/1.1 is served.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy, sink};

/// An empty SETTINGS frame, with which a server begins (RFC 9113 3.4), and a GOAWAY: no stream was
/// processed, and HTTP/1.1 is required (RFC 9113 6.8 and 7).
const HTTP1_REQUIRED: &[u8] = b"\0\0\0\x04\0\0\0\0\0\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0d";

/// How many bytes a client may send before it reads the refusal.
const SENT_AHEAD: u64 = 64 * 1024;

/// Informs an HTTP/2 client that only HTTP/1.1 is served. Its data is read meanwhile: closing a
/// socket with unread data resets it, and the client would not receive the message.
pub(super) async fn refuse<S: AsyncRead + AsyncWrite + Unpin>(mut socket: S) {
    tracing::debug!("a client speaks HTTP/2, and the feature `http2` of policy-server is off");
    if socket.write_all(HTTP1_REQUIRED).await.is_ok() && socket.shutdown().await.is_ok() {
        // The connection ends in any case, so errors are ignored.
        let _ = copy(&mut socket.take(SENT_AHEAD), &mut sink()).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::server::{
        connection::first_bytes::{Protocol, by_first_bytes},
        stream::Stream,
    };

    #[tokio::test]
    async fn an_http2_client_gets_http_1_1_required() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let server = Stream::from(listener.accept().await.unwrap().0);
        client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        let (server, protocol) = by_first_bytes(server).await.expect("a protocol");
        assert_eq!(protocol, Protocol::Http2);
        let refused = tokio::spawn(refuse(server));
        // The client sends its SETTINGS before it reads.
        client.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.unwrap();
        let (settings, goaway) = received.split_at(9);
        assert_eq!(settings, [0, 0, 0, 4, 0, 0, 0, 0, 0]);
        assert_eq!(goaway[..9], [0, 0, 8, 7, 0, 0, 0, 0, 0], "a GOAWAY of 8 bytes");
        assert_eq!(goaway[9..], [0, 0, 0, 0, 0, 0, 0, 0xd], "HTTP_1_1_REQUIRED, after no stream");
        assert!(!refused.is_finished(), "the client may still write");
        drop(client);
        refused.await.unwrap();
    }
}
