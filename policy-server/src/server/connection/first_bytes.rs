//! Whether a client without TLS speaks HTTP/2, by its first bytes.

use tokio::io::AsyncReadExt;

use crate::server::stream::Stream;

/// The first bytes of HTTP/2 with prior knowledge (RFC 9113 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The protocol of an established connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum Protocol {
    Http1,
    Http2,
}

#[cfg(feature = "metrics")]
impl Protocol {
    /// The version of its first request, if that is not HTTP/1.0.
    pub(super) fn version(self) -> http::Version {
        match self {
            Self::Http1 => http::Version::HTTP_11,
            Self::Http2 => http::Version::HTTP_2,
        }
    }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{
        io::AsyncWriteExt,
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

    /// The protocol of a connection whose first bytes arrive one by one, and the bytes read from it.
    async fn detect<C: AsyncWriteExt + Unpin>(
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
            assert_eq!(detect(over_tcp().await, first).await, (protocol, all.clone()));
            #[cfg(unix)]
            {
                let (client, server) = tokio::net::UnixStream::pair().unwrap();
                assert_eq!(detect((client, server.into()), first).await, (protocol, all));
            }
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}
