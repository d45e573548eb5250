//! Listening: sockets, limits of connections, and the orderly end.

mod activity;
mod connection;
mod peer;
mod proxy_protocol;
mod settings;
mod shutdown;
mod socket;
mod watched;
mod websocket;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use policy_core::gate::OwnOrigin;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
};

pub(crate) use peer::Peer;
pub use settings::Settings;
pub(crate) use websocket::Opened;

use crate::{
    app::App,
    endings::Ended,
    error::{Error, StartProblem},
    report::{notices, report},
    service::AppService,
};
use connection::serve_connection;
use shutdown::Shutdown;

/// An app that listens: made by [`App::bind`].
#[derive(Debug)]
pub struct Server<S> {
    service: AppService<S>,
    listener: TcpListener,
    address: SocketAddr,
}

impl<S: Send + Sync + 'static> Server<S> {
    pub(crate) async fn bind(app: App<S>, address: &str) -> Result<Self, Error> {
        let service = app.open().await?;
        let failed = |source| Error::Listen { address: address.to_owned(), source };
        let listener = TcpListener::bind(with_port(address)).await.map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        if service.app().own_origin == OwnOrigin::Development && !local.ip().is_loopback() {
            let address = address.to_owned();
            return Err(Error::Start(vec![StartProblem::NotLoopback { address }]));
        }
        Ok(Self { service, listener, address: local })
    }

    /// The address, with the port that was chosen for port 0.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until ctrl-c or SIGTERM, and finishes the requests in flight then.
    ///
    /// # Errors
    ///
    /// If the signals cannot be listened for.
    pub async fn run(self) -> Result<(), Error> {
        let signal = shutdown::signal()?;
        self.run_until(signal).await;
        Ok(())
    }

    /// Serves until `stop` is done, and finishes the requests in flight then.
    ///
    /// A connection that was upgraded, such as a WebSocket, is its handler's own from then on:
    /// it is neither waited for nor closed.
    pub async fn run_until(self, stop: impl Future<Output = ()>) {
        let Self { service, listener, address } = self;
        if service.app().own_origin == OwnOrigin::Development {
            // For the person at the terminal; a deployment has its logs.
            eprint!("{}", report(service.app(), &address.to_string()).unwrap_or_default());
        }
        tracing::info!(%address, "listening");
        for notice in notices(service.app()) {
            tracing::warn!("{notice}");
        }
        let settings = service.app().settings.clone();
        let connections = Arc::new(Semaphore::new(settings.max_connections as usize));
        let shutdown = Shutdown::default();
        // Every connection holds a sender, so the channel ends with the last of them.
        let (alive, mut all_ended) = mpsc::channel(1);
        let serving = Serving { service: service.clone(), shutdown: shutdown.clone(), alive };
        tokio::select! {
            () = accept(&listener, &connections, |stream, peer, permit| {
                let peer = Peer { address: peer, client: None, is_tls: false };
                tokio::spawn(serve_connection(stream, peer, serving.clone(), permit));
            }) => (),
            () = stop => (),
        }
        drop((listener, serving));
        tracing::info!(%address, "shutting down");
        shutdown.begin();
        // What lasts for as long as somebody is logged in would never be finished.
        service.app().guard.endings.publish(Ended::Service);
        let all_ended = async { all_ended.recv().await.unwrap_or(()) };
        if tokio::time::timeout(settings.shutdown_timeout, all_ended).await.is_err() {
            tracing::warn!(%address, "requests in flight were cut off");
            shutdown.cut();
        }
    }
}

/// What every connection of a server has of it.
struct Serving<S> {
    service: AppService<S>,
    shutdown: Shutdown,
    /// Goes with the connection.
    alive: mpsc::Sender<()>,
}

impl<S> Clone for Serving<S> {
    fn clone(&self) -> Self {
        let Self { service, shutdown, alive } = self;
        Self { service: service.clone(), shutdown: shutdown.clone(), alive: alive.clone() }
    }
}

/// Accepts connections, never more at once than allowed: the others wait in the kernel's queue.
async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
    spawn: impl Fn(TcpStream, SocketAddr, OwnedSemaphorePermit),
) {
    while let Ok(permit) = Arc::clone(connections).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, peer)) => spawn(stream, peer, permit),
            Err(error) => pause_if_exhausted(&error).await,
        }
    }
}

/// A peer that went away before it was accepted is none of our business; a lack of file
/// descriptors goes by when connections end.
async fn pause_if_exhausted(error: &std::io::Error) {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::error!(%error, "cannot accept connections");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The address with HTTP's default port where it names none.
fn with_port(address: &str) -> String {
    let behind_host = match address.rsplit_once(']') {
        Some((_, behind)) => behind,
        None => address,
    };
    if behind_host.contains(':') { address.to_owned() } else { format!("{address}:80") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_port_is_80() {
        assert_eq!(with_port("127.0.0.1"), "127.0.0.1:80");
        assert_eq!(with_port("[::1]"), "[::1]:80");
        assert_eq!(with_port("localhost:8080"), "localhost:8080");
        assert_eq!(with_port("[::1]:8080"), "[::1]:8080");
    }
}
