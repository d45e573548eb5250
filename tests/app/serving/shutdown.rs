//! Graceful shutdown.

use axum::extract::WebSocketUpgrade;
use policy_server::Server;
use policy_tests::{
    process::{ServerProcess, again, role},
    websocket::{HANDSHAKE, assert_closed, echo},
};
use tokio::sync::mpsc;

use super::*;

/// The last event of a stream that the stop ends.
const LAST_EVENT: &[u8] = b"event: end\ndata: {\"code\":\"server.stopping\"}\n\n";

#[tokio::test]
async fn the_shutdown_finishes_open_requests_and_begins_none() {
    let gate = gate();
    // A stop gives an incomplete head no additional time.
    let settings = ServerSettings::default().header_timeout(Duration::from_millis(300));
    let server = Running::start(app_with(&gate).settings(settings)).await;
    let address = server.address;
    let mut used = server.connect().await;
    assert_hello(&mut used).await;
    let mut unused = server.connect().await;
    let mut half = server.connect().await;
    half.send("GET /hello HTTP/1.1\r\n").await;
    let mut waiting = server.connect().await;
    waiting.send(get("/wait")).await;
    let mut streaming = server.connect().await;
    streaming.send(get("/events")).await;
    streaming.head().await;

    let stopped = server.stop();
    used.wait_for_close().await;
    unused.wait_for_close().await;
    half.wait_for_close().await;
    let refused = soon(tokio::net::TcpStream::connect(address)).await;
    assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);

    assert!(!stopped.is_finished());
    gate.add_permits(2);
    let response = waiting.response().await;
    assert_eq!((response.text(), response.header("connection")), ("waited", Some("close")));
    waiting.wait_for_close().await;
    assert_eq!(streaming.chunk().await.unwrap(), LAST_EVENT);
    assert_eq!(streaming.chunk().await, None);
    soon(stopped).await.unwrap();
}

#[get("/late-events")]
#[auth(public)]
async fn late_events(
    State(gate): State<Gate>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    gate.acquire().await.expect("a gate").forget();
    Sse::new(stream::pending::<Result<Event, Infallible>>())
}

#[get("/late-socket")]
#[auth(public)]
async fn late_socket(State(gate): State<Gate>, upgrade: WebSocketUpgrade) -> Response {
    gate.acquire().await.expect("a gate").forget();
    echo(upgrade)
}

/// The requests came before the stop, or with it, and their handlers respond after it.
#[tokio::test]
async fn streams_that_open_after_the_stop_end_at_once() {
    let gate = gate();
    let app = App::new(Arc::clone(&gate)).routes(routes![hello, late_events, late_socket]);
    let server = Running::start(app).await;
    let mut used = server.connect().await;
    let mut streaming = server.connect().await;
    streaming.send(get("/late-events")).await;
    let mut socket = server.connect().await;
    socket.send(request("GET /late-socket", &HANDSHAKE)).await;
    assert_hello(&mut used).await;
    let stopped = server.stop();
    // The server has told its streams of the stop.
    used.wait_for_close().await;
    gate.add_permits(2);
    streaming.head().await;
    assert_eq!(streaming.chunk().await.unwrap(), LAST_EVENT);
    assert_eq!(streaming.chunk().await, None);
    assert_eq!(socket.head().await.status, 101);
    assert_closed(&mut socket, 1001, "server.stopping").await;
    soon(stopped).await.unwrap();
}

/// Connections that nobody has accepted, that wait for others to end, or that have sent nothing.
#[tokio::test]
async fn the_shutdown_serves_accepted_connections() {
    let gate = gate();
    let settings = ServerSettings::default().max_connections(2);
    let server = Running::start(app_with(&gate).settings(settings)).await;
    let mut busy = server.connect().await;
    busy.send(get("/wait")).await;
    let silent = server.connect().await;
    let mut waiting = Vec::new();
    for _ in 0..5 {
        waiting.push(server.connect().await);
    }
    let stopped = server.stop();
    // The server notices that it is to stop before the requests come.
    tokio::time::sleep(Duration::from_millis(50)).await;
    waiting.insert(0, silent);
    for connection in &mut waiting {
        connection.send(get("/hello")).await;
    }
    gate.add_permits(1);
    let response = busy.response().await;
    assert_eq!((response.text(), response.header("connection")), ("waited", Some("close")));
    for connection in &mut waiting {
        let response = connection.response().await;
        assert_eq!((response.text(), response.header("connection")), ("hello", Some("close")));
        connection.wait_for_close().await;
    }
    soon(stopped).await.unwrap();
}

/// Clients that come while the server stops are served or refused, and never reset.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_shutdown_resets_no_connecting_client() {
    let rounds: Vec<_> =
        (0..4).map(|_| tokio::spawn(clients_come_while_the_server_stops())).collect();
    for round in rounds {
        round.await.unwrap();
    }
}

async fn clients_come_while_the_server_stops() {
    for _ in 0..5 {
        let server = Running::start(app()).await;
        let address = server.address;
        let (served, mut first) = mpsc::channel(8);
        let clients: Vec<_> = (0..8)
            .map(|_| {
                let served = served.clone();
                tokio::spawn(async move {
                    while let Ok(stream) = soon(tokio::net::TcpStream::connect(address)).await {
                        let mut connection = Connection::over(stream);
                        connection.send(get("/hello")).await;
                        assert_eq!(connection.response().await.text(), "hello");
                        let _ = served.try_send(());
                    }
                })
            })
            .collect();
        // Their connections are in use.
        for _ in 0..8 {
            soon(first.recv()).await.unwrap();
        }
        soon(server.stop()).await.unwrap();
        for client in clients {
            soon(client).await.unwrap();
        }
    }
}

/// A connection that sends nothing does not delay the shutdown.
#[tokio::test]
async fn the_shutdown_waits_for_first_bytes_a_moment_only() {
    let time = StoppedTime::begin();
    let server = Running::start(app()).await;
    let mut silent = server.connect().await;
    let begun = tokio::time::Instant::now();
    let stopped = server.stop();
    time.until(stopped).await.unwrap();
    silent.wait_for_close().await;
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn the_shutdown_cuts_off_requests_after_its_timeout() {
    let settings = ServerSettings::default().shutdown_timeout(Duration::from_millis(200));
    let server = Running::start(app().settings(settings)).await;
    let mut waiting = server.connect().await;
    waiting.send(get("/never")).await;
    let mut streaming = server.connect().await;
    streaming.send(get("/stream")).await;
    streaming.head().await;
    soon(server.stop()).await.unwrap();
    waiting.wait_for_close().await;
    soon(streaming.rest()).await;
}

#[tokio::test]
async fn the_shutdown_finishes_streams_of_http_2() {
    let gate = gate();
    let server = Running::start(app_with(&gate)).await;
    let (mut client, connection) = http2::connect(&server).await;
    let waiting =
        tokio::spawn(async move { http2::send(&mut client, http2::get("/wait"), "").await });
    // When a later request has been answered, the first one has arrived.
    assert_hello(&mut server.connect().await).await;
    let stopped = server.stop();
    tokio::task::yield_now().await;
    gate.add_permits(1);
    assert_eq!(soon(waiting).await.unwrap().text(), "waited");
    let _ = soon(connection).await;
    soon(stopped).await.unwrap();
}

#[tokio::test]
async fn the_shutdown_begins_with_sigterm() {
    #[get("/slow")]
    #[auth(public)]
    async fn slow() -> &'static str {
        tokio::time::sleep(Duration::from_millis(500)).await;
        "finished"
    }

    if role().is_some() {
        return App::new(()).routes(routes![hello, slow]).serve("127.0.0.1:0").await.unwrap();
    }
    let process = ServerProcess::start(&mut again(
        "serving::shutdown::the_shutdown_begins_with_sigterm",
        "server",
    ));
    let mut idle = Connection::open(process.address).await;
    assert_hello(&mut idle).await;
    let mut busy = Connection::open(process.address).await;
    busy.send(get("/slow")).await;
    // When a later request has been answered, the handler runs.
    assert_hello(&mut idle).await;
    process.terminate();
    idle.wait_for_close().await;
    assert_eq!(busy.response().await.text(), "finished");
    let (success, rest) = process.wait_for_exit();
    assert!(success, "{rest}");
}

/// Without a public origin, requests in flight do not delay the end.
#[tokio::test]
async fn in_development_ctrl_c_ends_a_server_at_once() {
    const TEST: &str = "serving::shutdown::in_development_ctrl_c_ends_a_server_at_once";
    const LONG: Duration = Duration::from_secs(600);

    if role().is_some() {
        let settings = ServerSettings::default().drain(LONG).shutdown_timeout(LONG);
        let app = App::new(()).routes(routes![hello, never]).settings(settings);
        return app.serve("127.0.0.1:0").await.unwrap();
    }
    let process = ServerProcess::start(&mut again(TEST, "server"));
    let mut busy = Connection::open(process.address).await;
    busy.send(get("/never")).await;
    assert_hello(&mut Connection::open(process.address).await).await;
    process.signal("INT");
    let (success, rest) = process.wait_for_exit();
    assert!(success, "{rest}");
}

/// Two servers for one process.
async fn two_servers() -> (Server, Server) {
    let bind = async || {
        let app = App::new(()).routes(routes![hello]);
        app.bind("127.0.0.1:0").await.expect("an app that starts")
    };
    (bind().await, bind().await)
}

/// Starts this test in its role, sends SIGTERM after the first response, and waits for the end.
async fn ends_at_once(test: &str) {
    let process = ServerProcess::start(&mut again(test, "servers"));
    assert_hello(&mut Connection::open(process.address).await).await;
    process.terminate();
    let (success, rest) = process.wait_for_exit();
    assert!(success, "{rest}");
}

/// Even a signal right after the first response ends both servers.
#[tokio::test(flavor = "multi_thread")]
async fn sigterm_is_seen_by_every_server_of_the_process() {
    const STARTS: usize = 10;

    if role().is_some() {
        let (first, second) = two_servers().await;
        tokio::try_join!(first.run(), second.run()).unwrap();
        return;
    }
    for _ in 0..STARTS {
        ends_at_once("serving::shutdown::sigterm_is_seen_by_every_server_of_the_process").await;
    }
}

#[tokio::test]
async fn sigterm_is_seen_by_a_server_that_starts_after_the_signal() {
    if role().is_some() {
        let (first, second) = two_servers().await;
        first.run().await.unwrap();
        return second.run().await.unwrap();
    }
    ends_at_once("serving::shutdown::sigterm_is_seen_by_a_server_that_starts_after_the_signal")
        .await;
}
