//! A network between an app and a server, which tests break.

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::{mpsc, watch},
    task::JoinSet,
};

use crate::port::Port;

/// The state of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Network {
    Well,
    /// Connections are reset, and new ones are refused.
    Cut,
    /// Connections are accepted, and nothing arrives: sent bytes wait until the network works
    /// again, as TCP retransmits them.
    Silent,
    /// Everything arrives with this delay, at most this many bytes a second on each connection.
    Slow(Duration, u32),
}

/// A TCP proxy in front of a server, for as long as this value exists.
#[derive(Debug)]
pub struct Relay {
    network: Arc<watch::Sender<Network>>,
    is_listening: watch::Receiver<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Relay {
    /// Starts a relay in front of the server of a URL with a port. Returns it, and the URL that leads
    /// through it.
    pub fn start(url: &str) -> (Self, String) {
        let (before, rest) = url.split_once('@').expect("a user");
        let (address, behind) = rest.split_once('/').expect("a path");
        let server: SocketAddr = address.parse().expect("an address");
        let port = Port::reserve();
        let network = Arc::new(watch::Sender::new(Network::Well));
        let (listening, is_listening) = watch::channel(false);
        let url = format!("{before}@{}/{behind}", port.address);
        let task = tokio::spawn(listen(port, server, Arc::clone(&network), listening));
        (Self { network, is_listening, task }, url)
    }

    /// Changes the network for all connections, also those that are open. Clients can connect when
    /// this returns, or all connections are closed.
    pub async fn set(&self, network: Network) {
        self.network.send_replace(network);
        let is_listening = network != Network::Cut;
        let mut changes = self.is_listening.clone();
        changes.wait_for(|now| *now == is_listening).await.expect("a task that listens");
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // All connections are tasks below it.
        self.task.abort();
    }
}

/// Listens while the network is not cut.
async fn listen(
    port: Port,
    server: SocketAddr,
    network: Arc<watch::Sender<Network>>,
    is_listening: watch::Sender<bool>,
) {
    let mut changes = network.subscribe();
    while changes.wait_for(|now| *now != Network::Cut).await.is_ok() {
        let listener = TcpListener::bind(port.address).await.expect("a port of our own");
        is_listening.send_replace(true);
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let Ok((client, _)) = accepted else { continue };
                    connections.spawn(pass(client, server, network.subscribe()));
                }
                _ended = connections.join_next(), if !connections.is_empty() => (),
                _cut = changes.wait_for(|now| *now == Network::Cut) => break,
            }
        }
        drop(listener);
        // Bytes that waited to be sent are lost.
        connections.shutdown().await;
        is_listening.send_replace(false);
    }
}

async fn pass(client: TcpStream, server: SocketAddr, network: watch::Receiver<Network>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    for stream in [&client, &server] {
        // The end of this task resets the connections, and no byte waits for more to send.
        let _closed = (stream.set_zero_linger(), stream.set_nodelay(true));
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::join!(
        one_way(from_client, to_server, network.clone()),
        one_way(from_server, to_client, network),
    );
}

/// Forwards bytes, each when it is due.
async fn one_way(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut network: watch::Receiver<Network>,
) {
    let (send, mut receive) = mpsc::channel::<(Instant, Vec<u8>)>(256);
    let reads = async move {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            // Empty at the end.
            let read = from.read(&mut buffer).await.unwrap_or(0);
            let bytes = buffer[..read].to_vec();
            if send.send((Instant::now(), bytes)).await.is_err() || read == 0 {
                return;
            }
        }
    };
    let writes = async move {
        // When the bytes before have been sent.
        let mut free = Instant::now();
        while let Some((at, bytes)) = receive.recv().await {
            let now = network.wait_for(|now| *now != Network::Silent).await;
            let now = now.map_or(Network::Well, |now| *now);
            if let Network::Slow(delay, rate) = now {
                let takes = Duration::from_secs_f64(bytes.len() as f64 / f64::from(rate));
                free = free.max(at + delay) + takes;
                tokio::time::sleep_until(free.into()).await;
            }
            let written: io::Result<()> = match bytes.is_empty() {
                true => to.shutdown().await,
                false => to.write_all(&bytes).await,
            };
            if written.is_err() {
                return;
            }
        }
    };
    tokio::join!(reads, writes);
}
