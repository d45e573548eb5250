//! An HTTP/1.1 connection releases its buffers between two requests if its client is quiet.
//!
//! It must not while a part of a request or a response is in transit. Covers: the body of a request
//! that is not read, a response that goes on, a response that its client does not read, a part of a
//! head, a connection that ends, the stop of the server, and the time-outs.

use std::{convert::Infallible, sync::Arc};

use futures_util::stream;
use policy_server::Body;
use policy_tests::log::{Guard, Log};
use tokio::sync::Semaphore;

use super::*;

const IDLE: Duration = Duration::from_secs(4);
/// Long enough to rest, and too short to be closed.
const QUIET: Duration = Duration::from_millis(2100);

struct Resting {
    time: StoppedTime,
    log: Log,
    _guard: Guard,
    server: Running,
}

impl Resting {
    async fn begin<S: Send + Sync + 'static>(app: App<S>) -> Self {
        let time = StoppedTime::begin();
        let (log, guard) = Log::start("policy_server::server::connection");
        let settings = ServerSettings::default().idle_timeout(IDLE).header_timeout(IDLE / 2);
        let server = Running::start(app.settings(settings)).await;
        Self { time, log, _guard: guard, server }
    }

    /// A server with a connection that rests.
    async fn with_one() -> (Self, http::Connection) {
        let resting = Self::begin(app()).await;
        let mut connection = resting.server.connect().await;
        assert_hello(&mut connection).await;
        resting.time.pass(QUIET).await;
        assert_eq!(resting.rests(), 1);
        (resting, connection)
    }

    /// How often connections have gone to rest.
    fn rests(&self) -> usize {
        self.log.with("connection rests").len()
    }
}

#[tokio::test]
async fn resting_connections_serve_any_next_request() {
    let resting = Resting::begin(app()).await;
    let mut connection = resting.server.connect().await;
    assert_hello(&mut connection).await;
    for rests in 1..=3 {
        resting.time.pass(QUIET).await;
        assert_eq!(resting.rests(), rests);
        assert_hello(&mut connection).await;
        connection.send("POST /upload HTTP/1.1\r\nhost: localhost\r\n").await;
        resting.time.pass(QUIET / 4).await;
        connection.send("content-length: 5\r\n\r\nla").await;
        resting.time.pass(QUIET).await;
        connection.send("mps").await;
        assert_eq!(connection.response().await.text(), "lamps");
        connection.send([request("GET /hello", &[]), request("GET /hello", &[])].concat()).await;
        assert_eq!(connection.response().await.text(), "hello");
        assert_eq!(connection.response().await.text(), "hello");
    }
    assert_serving(&resting.server).await;
}

#[tokio::test]
async fn resting_connections_are_closed_when_their_time_is_over() {
    let resting = Resting::begin(app()).await;
    let mut connection = resting.server.connect().await;
    assert_hello(&mut connection).await;
    let closed = resting.time.until(connection.wait_for_close()).await;
    assert!((IDLE * 3 / 4..=IDLE * 3 / 2).contains(&closed), "{closed:?}");
    assert_eq!(resting.rests(), 1);
}

#[tokio::test]
async fn resting_connections_still_have_to_complete_their_heads() {
    let (resting, mut connection) = Resting::with_one().await;
    connection.send("GET /hello HT").await;
    assert!(resting.time.until(connection.wait_for_close()).await <= IDLE);
}

#[tokio::test]
async fn resting_connections_end_with_their_server() {
    let (resting, mut connection) = Resting::with_one().await;
    let stopped = resting.server.stop();
    // At once: no time passes unless the test says so.
    assert_eq!(connection.wait_for_close().await, Duration::ZERO);
    resting.time.until(stopped).await.expect("a server that stops");
}

#[tokio::test]
async fn resting_connections_end_with_their_clients() {
    let (resting, connection) = Resting::with_one().await;
    drop(connection);
    // The server waits for no connection then.
    resting.time.until(resting.server.stop()).await.expect("a server that stops");
}

/// Responds at once and keeps the body of the request, until the test has a permit for it.
#[post("/keep")]
#[auth(public)]
async fn keep(gate: State<Arc<Semaphore>>, body: Body) -> &'static str {
    tokio::spawn(async move {
        gate.acquire().await.expect("a gate").forget();
        drop(body);
    });
    "kept"
}

/// A part of a response for each permit.
#[get("/parts")]
#[auth(public)]
async fn parts(gate: State<Arc<Semaphore>>) -> Body {
    Body::from_stream(stream::unfold(gate.0, |gate| async move {
        gate.acquire().await.expect("a gate").forget();
        Some((Ok::<_, Infallible>("part "), gate))
    }))
}

#[tokio::test]
async fn nothing_rests_while_a_body_is_not_read() {
    let gate = Arc::new(Semaphore::new(0));
    let app = App::new(Arc::clone(&gate)).routes(routes![hello, keep]);
    let resting = Resting::begin(app).await;
    let mut connection = resting.server.connect().await;
    assert_hello(&mut connection).await;
    let hidden = request("GET /hello", &[]);
    let head = format!("content-length: {}", hidden.len());
    connection.send(request("POST /keep", &[&head])).await;
    assert_eq!(connection.response().await.text(), "kept");
    resting.time.pass(QUIET).await;
    assert_eq!(resting.rests(), 0);
    // What follows is a body, and not a request.
    connection.send(hidden).await;
    gate.add_permits(1);
    let rest = resting.time.until(connection.rest()).await;
    assert!(!rest.starts_with(b"HTTP/1.1 200"), "`{}`", rest.escape_ascii());
}

#[tokio::test]
async fn no_connection_rests_during_a_response() {
    let gate = Arc::new(Semaphore::new(1));
    let app = App::new(Arc::clone(&gate)).routes(routes![hello, parts]);
    let resting = Resting::begin(app).await;
    let mut connection = resting.server.connect().await;
    connection.send(request("GET /parts", &[])).await;
    assert_eq!(connection.head().await.status, 200);
    for _ in 0..3 {
        assert_eq!(connection.chunk().await.expect("a part"), b"part ");
        resting.time.pass(QUIET).await;
        gate.add_permits(1);
    }
    assert_eq!(resting.rests(), 0);
}

/// More than the buffers of a socket hold.
#[get("/large")]
#[auth(public)]
async fn large() -> Bytes {
    Bytes::from(vec![b'x'; 32 << 20])
}

#[tokio::test]
async fn nothing_rests_while_a_response_is_not_read() {
    let resting = Resting::begin(App::new(()).routes(routes![hello, large])).await;
    let mut connection = resting.server.connect().await;
    connection.send(request("GET /large", &[])).await;
    assert_eq!(connection.head().await.status, 200);
    resting.time.pass(QUIET).await;
    assert_eq!(connection.exactly(32 << 20).await.len(), 32 << 20);
    assert_eq!(resting.rests(), 0);
    assert_hello(&mut connection).await;
}

#[tokio::test]
async fn a_part_of_a_head_behind_a_request_is_not_lost() {
    let resting = Resting::begin(app()).await;
    let mut connection = resting.server.connect().await;
    let (begun, ended) = ("GET /hel", "lo HTTP/1.1\r\nhost: localhost\r\n\r\n");
    connection.send(request("GET /hello", &[]) + begun).await;
    assert_eq!(connection.response().await.text(), "hello");
    resting.time.pass(QUIET / 4).await;
    connection.send(ended).await;
    assert_eq!(connection.response().await.text(), "hello");
    connection.send(request("GET /hello", &[]) + begun).await;
    assert_eq!(connection.response().await.text(), "hello");
    assert!(resting.time.until(connection.wait_for_close()).await <= IDLE);
    assert_eq!(resting.rests(), 0);
}
