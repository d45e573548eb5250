//! Whether a client without TLS speaks HTTP/2, by its first bytes.

use tokio::io::AsyncReadExt;
#[cfg(any(test, not(feature = "http2")))]
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, sink};

use crate::server::stream::Stream;

/// The first bytes of HTTP/2 with prior knowledge (RFC 9113 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The protocol of an established connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum Protocol {
    Http1,
    Http2,
}

/// Chooses the protocol by the first bytes. They stay unread, unless they are only the beginning of
/// the preface: readiness for more can be awaited only once they are read.
pub(super) async fn by_first_bytes(mut stream: Stream) -> Option<(Stream, Protocol)> {
    let mut bytes = [0; PREFACE.len()];
    let mut missing = PREFACE;
    loop {
        let len = stream.peek(&mut bytes).await.ok().filter(|len| *len > 0)?;
        let peeked = bytes.get_mut(..len.min(missing.len()))?;
        let protocol = match missing.strip_prefix(&*peeked) {
            Some([]) => Protocol::Http2,
            Some(rest) => {
                stream.read_exact(peeked).await.ok()?;
                missing = rest;
                continue;
            }
            None => Protocol::Http1,
        };
        if let Some(begun @ [_, ..]) = PREFACE.strip_suffix(missing) {
            stream.put_back(begun);
        }
        return Some((stream, protocol));
    }
}

/// An empty SETTINGS frame, with which a server begins (RFC 9113 3.4), and a GOAWAY: no stream was
/// processed, and HTTP/1.1 is required (RFC 9113 6.8 and 7).
#[cfg(any(test, not(feature = "http2")))]
const HTTP1_REQUIRED: &[u8] = b"\0\0\0\x04\0\0\0\0\0\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0d";

/// How much a client sends before it reads that.
#[cfg(any(test, not(feature = "http2")))]
const SENT_AHEAD: u64 = 64 * 1024;

/// Tells a client of HTTP/2 that only HTTP/1.1 is served. What it sends meanwhile is read: a socket
/// that is closed before that is reset, and the client would not hear it.
#[cfg(any(test, not(feature = "http2")))]
pub(super) async fn refuse_http2<S: AsyncRead + AsyncWrite + Unpin>(mut socket: S) {
    tracing::debug!("a client speaks HTTP/2, and the feature `http2` of policy-server is off");
    if socket.write_all(HTTP1_REQUIRED).await.is_ok() && socket.shutdown().await.is_ok() {
        // The connection ends, whatever became of the client.
        let _ = copy(&mut socket.take(SENT_AHEAD), &mut sink()).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{
        net::{TcpListener, TcpStream},
        task::spawn_blocking,
        time::Instant,
    };

    use super::*;

    async fn over_tcp() -> (TcpStream, Stream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, listener.accept().await.unwrap().0.into())
    }

    /// The protocol of a connection whose first bytes arrive one by one, and what it reads then.
    async fn found<C: AsyncWriteExt + Unpin>(
        (mut client, server): (C, Stream),
        first: &'static [u8],
    ) -> (Protocol, Vec<u8>) {
        let begun = tokio::spawn(by_first_bytes(server));
        for byte in first {
            client.write_all(&[*byte]).await.unwrap();
            let pause = || std::thread::sleep(Duration::from_millis(2));
            spawn_blocking(pause).await.unwrap();
        }
        let (mut socket, protocol) = begun.await.unwrap().expect("a protocol");
        client.write_all(b"more").await.unwrap();
        drop(client);
        let mut read = Vec::new();
        socket.read_to_end(&mut read).await.unwrap();
        (protocol, read)
    }

    /// Time passes only while a timer is waited for.
    #[tokio::test(start_paused = true)]
    async fn first_bytes_are_waited_for_without_a_timer_and_are_not_lost() {
        let begun = Instant::now();
        for (first, protocol) in [
            (PREFACE, Protocol::Http2),
            (&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX"[..], Protocol::Http1),
            (b"POST", Protocol::Http1),
            (b"G", Protocol::Http1),
        ] {
            let all = [first, b"more"].concat();
            assert_eq!(found(over_tcp().await, first).await, (protocol, all.clone()));
            #[cfg(unix)]
            {
                let (client, server) = tokio::net::UnixStream::pair().unwrap();
                assert_eq!(found((client, server.into()), first).await, (protocol, all));
            }
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }

    #[tokio::test]
    async fn a_client_of_http2_is_told_where_only_http1_is_served() {
        let (mut client, server) = over_tcp().await;
        client.write_all(PREFACE).await.unwrap();
        let (server, protocol) = by_first_bytes(server).await.expect("a protocol");
        assert_eq!(protocol, Protocol::Http2);
        let refused = tokio::spawn(refuse_http2(server));
        // Its settings, before it reads.
        client.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await.unwrap();
        let mut told = Vec::new();
        client.read_to_end(&mut told).await.unwrap();
        let (settings, goaway) = told.split_at(9);
        assert_eq!(settings, [0, 0, 0, 4, 0, 0, 0, 0, 0]);
        assert_eq!(goaway[..9], [0, 0, 8, 7, 0, 0, 0, 0, 0], "a GOAWAY of 8 bytes");
        assert_eq!(goaway[9..], [0, 0, 0, 0, 0, 0, 0, 0xd], "HTTP_1_1_REQUIRED, after no stream");
        assert!(!refused.is_finished(), "the client may still write");
        drop(client);
        refused.await.unwrap();
    }
}
