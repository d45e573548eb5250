//! WebSockets over HTTP/2 (RFC 8441), as streams that can be closed from outside like the socket of
//! one over HTTP/1.1.

use std::{
    convert::Infallible,
    future::ready,
    sync::{Arc, Mutex, PoisonError},
};

use axum_core::body::Body;
use futures_util::FutureExt;
use http::{Request, Response, StatusCode};
use hyper::{
    body::Incoming, ext::Protocol, server::conn::http1, service::service_fn, upgrade::OnUpgrade,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    runtime::Handle,
    task::unconstrained,
};

use crate::{
    auth::RevocationSignal,
    base::{relay::relay, task},
    handler::upgrade::OpenStream,
    route::limits::UpgradePermit,
    server::{
        activity::Activity,
        shutdown::{Phase, Shutdown},
    },
};

/// An HTTP/2 stream that may become a WebSocket, and the end of the pipe that its handler does not
/// have.
pub(in crate::server::connection) struct Stream {
    client: OnUpgrade,
    handler: DuplexStream,
    opened: OpenStream,
    shutdown: Shutdown,
}

impl Stream {
    /// Keeps the connection of a CONNECT from counting as idle for as long as its handler uses it, and
    /// gives the handler of an extended one a pipe in place of the stream itself.
    pub(in crate::server::connection) fn intercept(
        request: &mut Request<Incoming>,
        activity: &Arc<Activity>,
        shutdown: &Shutdown,
    ) -> Option<Box<Self>> {
        let opened = OpenStream::new(activity.begin_request());
        let extensions = request.extensions_mut();
        extensions.insert(opened.clone());
        extensions.get::<Protocol>()?;
        let client = extensions.remove::<OnUpgrade>()?;
        let (upgrade, handler) = upgrade()?;
        extensions.insert(upgrade);
        Some(Box::new(Self { client, handler, opened, shutdown: shutdown.clone() }))
    }

    /// Relays bytes once the response is sent, until the credential that opened the stream ends or
    /// the server stops.
    pub(in crate::server::connection) fn begin<B>(self: Box<Self>, response: &Response<B>) {
        let ended =
            response.extensions().get::<RevocationSignal>().and_then(RevocationSignal::take);
        let permit = UpgradePermit::take(response);
        task::spawn(&Handle::current(), async move {
            let Self { client, handler, opened, shutdown } = *self;
            let Ok(client) = client.await else { return };
            let credential = async {
                match ended {
                    Some(ended) => ended.await,
                    None => std::future::pending().await,
                }
            };
            let ended = async {
                tokio::select! {
                    () = credential => (),
                    () = shutdown.left(Phase::Serve) => (),
                }
            };
            relay(TokioIo::new(client), handler, None, ended).await;
            drop((opened, permit));
        });
    }
}

/// The buffer of each direction.
const BUFFER: usize = 16 * 1024;

/// An upgrade, and the other end of its stream. hyper creates upgrades only for its own
/// connections, so this uses one in memory, with one request that is answered at once.
fn upgrade() -> Option<(OnUpgrade, DuplexStream)> {
    let (inner, mut outer) = duplex(BUFFER);
    let made = Arc::new(Mutex::new(None));
    let given = Arc::clone(&made);
    let service = service_fn(move |mut request: Request<Incoming>| {
        *given.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(hyper::upgrade::on(&mut request));
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        ready(Ok::<_, Infallible>(response))
    });
    let connection =
        http1::Builder::new().serve_connection(TokioIo::new(inner), service).with_upgrades();
    // Never waits: the bytes are there before they are read.
    unconstrained(async {
        let request = b"GET / HTTP/1.1\r\nhost: _\r\nconnection: upgrade\r\nupgrade: _\r\n\r\n";
        outer.write_all(request).await.ok()?;
        connection.await.ok()?;
        let mut head = [0; 512];
        let len = outer.read(&mut head).await.ok()?;
        head.get(..len)?.ends_with(b"\r\n\r\n").then_some(())
    })
    .now_or_never()??;
    let upgrade = made.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    Some((upgrade, outer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_upgrade_is_there_at_once_and_carries_bytes() {
        let (upgrade, mut outer) = upgrade().expect("an upgrade");
        let mut inner = TokioIo::new(upgrade.await.expect("a stream"));
        for _ in 0..3 {
            outer.write_all(b"there").await.unwrap();
            inner.write_all(b"back").await.unwrap();
            inner.flush().await.unwrap();
            let (mut there, mut back) = ([0; 5], [0; 4]);
            inner.read_exact(&mut there).await.unwrap();
            outer.read_exact(&mut back).await.unwrap();
            assert_eq!((&there, &back), (b"there", b"back"));
        }
        drop(outer);
        assert_eq!(inner.read(&mut [0]).await.unwrap(), 0);
    }
}
