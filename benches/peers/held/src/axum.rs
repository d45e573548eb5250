//! axum with its own streams of events and WebSockets, and axum-server for TLS.
//!
//! `held-axum PORT [CERTIFICATE KEY]`, on one worker.

use std::{
    convert::Infallible,
    env,
    error::Error,
    net::{Ipv4Addr, SocketAddr},
};

use axum::{
    Router,
    extract::WebSocketUpgrade,
    response::{Response, Sse, sse::Event},
    routing::get,
    serve::ListenerExt,
};
use axum_server::tls_rustls::RustlsConfig;
use futures_util::{Stream, StreamExt, stream};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Builder,
};

async fn plain() -> &'static str {
    "Hello, World!"
}

/// One event, then none.
async fn events() -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let first = stream::once(async { Ok(Event::default().data("hello")) });
    Sse::new(first.chain(stream::pending()))
}

async fn socket(upgrade: WebSocketUpgrade) -> Response {
    open(upgrade)
}

/// By default tungstenite keeps a read buffer of 128 KiB for each WebSocket.
async fn small_socket(upgrade: WebSocketUpgrade) -> Response {
    open(upgrade.read_buffer_size(4096))
}

fn open(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async |mut socket| while let Some(Ok(_)) = socket.recv().await {})
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let app = Router::new()
        .route("/plain", get(plain))
        .route("/events", get(events))
        .route("/socket", get(socket))
        .route("/small-socket", get(small_socket))
        .into_make_service();
    Builder::new_multi_thread().worker_threads(1).enable_all().build()?.block_on(async {
        match arguments.as_slice() {
            [port] => {
                let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
                let listener = listener.tap_io(|stream: &mut TcpStream| {
                    let _ = stream.set_nodelay(true);
                });
                // On a worker's own thread.
                tokio::spawn(async { axum::serve(listener, app).await }).await??;
            }
            [port, certificate, key] => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse()?));
                let tls = RustlsConfig::from_pem_file(certificate, key).await?;
                let server = axum_server::bind_rustls(address, tls);
                tokio::spawn(server.serve(app)).await??;
            }
            _ => return Err("usage: held-axum PORT [CERTIFICATE KEY]".into()),
        }
        Ok(())
    })
}
