//! The upstream of the proxy, which stops and starts again.

use std::thread::{self, JoinHandle};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

use super::*;

pub(crate) const RESPONSE: &str = "from above";

/// A server with its own thread, so that its connections end with it.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    life: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Upstream {
    pub(crate) fn start(address: SocketAddr) -> Self {
        let listener = std::net::TcpListener::bind(address).expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let (life, ended) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let listener = TcpListener::from_std(listener).expect("a listener");
                tokio::select! {
                    () = accept(&listener) => (),
                    _ = ended => (),
                }
            });
        });
        Self { address, life, thread }
    }

    pub(crate) fn die(self) {
        drop(self.life);
        self.thread.join().expect("its end");
    }
}

async fn accept(listener: &TcpListener) {
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        tokio::spawn(respond(stream));
    }
}

/// Requests without a body, one after the other.
async fn respond(mut stream: TcpStream) {
    let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{RESPONSE}", RESPONSE.len());
    let mut received = Vec::new();
    loop {
        match stream.read_buf(&mut received).await {
            Ok(1..) => (),
            _ => return,
        }
        if received.ends_with(b"\r\n\r\n") {
            received.clear();
            if stream.write_all(text.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}
