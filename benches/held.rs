//! What a server holds for its clients while nothing happens: an idle connection, over TLS too, an
//! open stream of events, an open WebSocket.
//!
//! `held PORT [CERTIFICATE KEY]`, on one worker; `benches/run idle` measures its memory beside
//! that of `benches/peers/held`.

use std::{convert::Infallible, env, time::Duration};

use axum::{
    extract::WebSocketUpgrade,
    response::{Sse, sse::Event},
};
use futures_util::{Stream, StreamExt, stream};
use policy_server::{Tls, prelude::*};
use tokio::runtime::Builder;

#[get("/plain")]
#[auth(public)]
async fn plain() -> &'static str {
    "Hello, World!"
}

/// All clients of the measurement have one address, and none replies to a ping.
const SOCKETS: Limits =
    Limits::NONE.sockets(100_000).sockets_per_caller(100_000).silence(Duration::from_secs(3600));

/// One event, then none.
#[get("/events")]
#[auth(public)]
async fn events() -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let first = stream::once(async { Ok(Event::default().data("hello")) });
    Sse::new(first.chain(stream::pending()))
}

#[get("/socket")]
#[limit(SOCKETS)]
#[auth(public)]
async fn socket(upgrade: WebSocketUpgrade) -> Response {
    open(upgrade)
}

/// By default tungstenite keeps a read buffer of 128 KiB for each WebSocket.
#[get("/small-socket")]
#[limit(SOCKETS)]
#[auth(public)]
async fn small_socket(upgrade: WebSocketUpgrade) -> Response {
    open(upgrade.read_buffer_size(4096))
}

fn open(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async |mut socket| while let Some(Ok(_)) = socket.recv().await {})
}

fn main() -> Result<(), Error> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    // The peers send no security headers.
    let routes = routes![plain, events, socket, small_socket];
    let app = App::new(()).policies(Policies::new().no_headers()).routes(routes);
    let (port, app) = match *arguments {
        [port] => (port, app),
        [port, certificate, key] => (port, app.tls(Tls::files(certificate, key))),
        _ => return Err(Error::Io(std::io::Error::other("usage: held PORT [CERTIFICATE KEY]"))),
    };
    Builder::new_multi_thread().worker_threads(1).enable_all().build()?.block_on(async {
        let server = app.bind(format!("127.0.0.1:{port}")).await?;
        // On a worker's own thread, like the peers.
        tokio::spawn(server.run()).await.map_err(std::io::Error::other)?
    })
}
