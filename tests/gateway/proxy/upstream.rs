//! A server behind the proxy that records what it received, byte for byte, and responds as it is
//! told.

use std::net::SocketAddr;

use tokio::{
    net::{TcpListener, TcpSocket},
    sync::mpsc,
};

use policy_tests::http::{Connection, RawRequest, soon};

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
    pub(crate) async fn accept(&self) -> Connection {
        let (stream, _) = soon(self.listener.accept()).await.expect("a connection");
        Connection::over(stream)
    }

    /// The next connection of the proxy, and the first request on it.
    pub(crate) async fn accept_request(&self) -> (Connection, RawRequest) {
        let mut line = self.accept().await;
        let request = line.request().await;
        (line, request)
    }

    /// Sends this response to every request and the request to the test. Bodies are read where
    /// their length is stated.
    pub(crate) fn answering(self, response: &'static str) -> mpsc::UnboundedReceiver<RawRequest> {
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
