//! A server behind the proxy that records what it received, byte for byte, and responds as it is
//! told.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::mpsc,
};

use policy_tests::http::soon;

/// A listener on its own port.
pub(crate) struct Upstream {
    listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Upstream {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        Self { listener, address }
    }

    /// An upstream whose sockets have small buffers.
    pub(crate) fn with_small_buffers() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_send_buffer_size(32 * 1024).expect("a buffer");
        socket.set_recv_buffer_size(32 * 1024).expect("a buffer");
        socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
        let listener = socket.listen(16).expect("a listener");
        let address = listener.local_addr().expect("an address");
        Self { listener, address }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next connection of the proxy.
    pub(crate) async fn accept(&self) -> Line {
        let (stream, _) = soon(self.listener.accept()).await.expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        Line { stream, received: Vec::new() }
    }

    /// Sends this response to every request and the request to the test. Bodies are read where
    /// their length is stated.
    pub(crate) fn answering(self, response: &'static str) -> mpsc::UnboundedReceiver<Arrived> {
        let (tell, arrived) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            loop {
                let mut line = self.accept().await;
                let tell = tell.clone();
                tokio::spawn(async move {
                    while let Some(mut request) = line.next_request().await {
                        let length = request.header("content-length").map(str::parse);
                        let length = length.map_or(0, |length| length.expect("a length"));
                        request.body = line.exactly(length).await;
                        // The test may have stopped listening.
                        let _ = tell.send(request);
                        line.send(response).await;
                    }
                });
            }
        });
        arrived
    }
}

/// A connection of the proxy.
pub(crate) struct Line {
    pub(crate) stream: TcpStream,
    received: Vec<u8>,
}

impl Line {
    /// The head of the next request.
    pub(crate) async fn request(&mut self) -> Arrived {
        self.next_request().await.expect("a request")
    }

    /// The next request, or `None` at the end of the connection.
    async fn next_request(&mut self) -> Option<Arrived> {
        loop {
            if let Some(end) = self.received.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = self.received.drain(..end + 4).collect();
                return Some(Arrived::parse(str::from_utf8(&head).expect("a head in ASCII")));
            }
            if self.receive().await == 0 {
                assert!(self.received.is_empty(), "closed within a head");
                return None;
            }
        }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        soon(self.stream.write_all(bytes.as_ref())).await.expect("a proxy that takes bytes");
    }

    pub(crate) async fn exactly(&mut self, length: usize) -> Vec<u8> {
        while self.received.len() < length {
            assert!(self.receive().await > 0, "closed before so many bytes");
        }
        self.received.drain(..length).collect()
    }

    /// Everything up to the end of the connection.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        while self.receive().await > 0 {}
        std::mem::take(&mut self.received)
    }

    async fn receive(&mut self) -> usize {
        let mut bytes = [0; 16 * 1024];
        // A proxy that gives up may reset the connection.
        let length = soon(self.stream.read(&mut bytes)).await.unwrap_or(0);
        self.received.extend_from_slice(&bytes[..length]);
        length
    }
}

#[derive(Debug)]
pub(crate) struct Arrived {
    /// `GET / HTTP/1.1`
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Arrived {
    fn parse(head: &str) -> Self {
        let mut lines = head.trim_end().split("\r\n");
        let line = lines.next().expect("a request line").to_owned();
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(": ").expect("a header");
            (name.to_owned(), value.to_owned())
        });
        Self { line, headers: headers.collect(), body: Vec::new() }
    }

    pub(crate) fn path(&self) -> &str {
        self.line.split(' ').nth(1).expect("a target")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|header| header.0 == name);
        let value = named.next().map(|header| header.1.as_str());
        assert!(named.next().is_none(), "`{name}` twice in {self:?}");
        value
    }

    /// All headers as sorted lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<_> =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        lines.sort_unstable();
        lines
    }
}
