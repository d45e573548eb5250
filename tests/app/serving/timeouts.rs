//! Which connections are closed, and which are not.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use http_body::{Frame, SizeHint};

use super::*;

pub(super) fn idle_after(timeout: Duration) -> ServerSettings {
    ServerSettings::default().idle_timeout(timeout)
}

pub(super) const SHORT: Duration = Duration::from_millis(200);

#[tokio::test]
async fn timeouts_close_an_idle_connection() {
    let time = StoppedTime::begin();
    let server = Running::start(app().settings(idle_after(SHORT))).await;
    let mut connection = server.connect().await;
    assert_hello(&mut connection).await;
    assert!(time.until(connection.wait_for_close()).await >= SHORT * 3 / 4);
}

#[tokio::test]
async fn timeouts_may_be_without_end() {
    let settings = idle_after(Duration::MAX).header_timeout(Duration::MAX);
    let server = Running::start(app().settings(settings)).await;
    let mut connection = server.connect().await;
    connection.send("GET /hello HTTP/1.1\r\n").await;
    // When a later request has been answered, the first line has arrived.
    assert_hello(&mut server.connect().await).await;
    connection.send("host: localhost\r\n\r\n").await;
    assert_eq!(connection.response().await.text(), "hello");
    assert_eq!(server.panics(), 0);
}

#[tokio::test]
async fn timeouts_do_not_close_a_connection_whose_handler_is_at_work() {
    let (time, gate) = (StoppedTime::begin(), gate());
    let server = Running::start(app_with(&gate).settings(idle_after(SHORT))).await;
    let mut connection = server.connect().await;
    connection.send(get("/wait")).await;
    // When a later request has been answered, the first one has arrived.
    assert_hello(&mut server.connect().await).await;
    time.pass(SHORT * 4).await;
    gate.add_permits(1);
    assert_eq!(connection.response().await.text(), "waited");
}

#[tokio::test]
async fn timeouts_do_not_close_a_stream_that_has_nothing_to_say() {
    let (time, gate) = (StoppedTime::begin(), gate());
    let server = Running::start(app_with(&gate).settings(idle_after(SHORT))).await;
    let mut connection = server.connect().await;
    connection.send(get("/events")).await;
    assert_eq!(connection.head().await.status, 200);
    for _ in 0..2 {
        time.pass(SHORT * 2).await;
        gate.add_permits(1);
        assert_eq!(connection.chunk().await.unwrap(), b"data: tick\n\n");
    }
}

/// A connection with small receive buffers.
pub(super) async fn narrow(server: &Running) -> Connection {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(64 << 10).expect("a socket");
    Connection::over(soon(socket.connect(server.address)).await.expect("a server"))
}

/// Reads a body in small portions, with a pause after each.
async fn read_slowly(time: &StoppedTime, connection: &mut Connection, length: usize) {
    let mut left = length;
    while left > 0 {
        let portion = left.min(512 << 10);
        connection.exactly(portion).await;
        left -= portion;
        time.pass(Duration::from_millis(40)).await;
    }
}

#[tokio::test]
async fn timeouts_do_not_cut_off_a_slowly_read_response() {
    let time = StoppedTime::begin();
    let server = Running::start(app().settings(idle_after(Duration::from_secs(1)))).await;
    let mut connection = narrow(&server).await;
    connection.send(get("/large")).await;
    assert_eq!(connection.head().await.status, 200);
    read_slowly(&time, &mut connection, LARGE).await;
    assert_hello(&mut connection).await;
}

/// Meanwhile the next request waits in the socket; its head is not late.
#[tokio::test]
async fn timeouts_do_not_cut_a_response_for_the_next_request() {
    let time = StoppedTime::begin();
    let settings = ServerSettings::default().header_timeout(Duration::from_millis(300));
    let server = Running::start(app().settings(settings)).await;
    let mut connection = narrow(&server).await;
    connection.send(get("/large")).await;
    assert_eq!(connection.head().await.status, 200);
    connection.send(get("/hello")).await;
    read_slowly(&time, &mut connection, LARGE).await;
    assert_eq!(connection.response().await.text(), "hello");
}

#[tokio::test]
async fn timeouts_close_a_connection_whose_client_stops_reading() {
    let time = StoppedTime::begin();
    for path in ["/large", "/large-stream"] {
        let settings = idle_after(SHORT).max_connections(1);
        let server = Running::start(app().settings(settings)).await;
        let mut connection = narrow(&server).await;
        connection.send(get(path)).await;
        assert_eq!(connection.head().await.status, 200);
        // There is room for another connection as soon as the first one is gone.
        let mut next = server.connect().await;
        next.send(get("/hello")).await;
        assert_eq!(time.until(next.head()).await.status, 200);
    }
}

/// A response of known length whose body arrives slowly, as from an upstream.
struct Relayed(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl http_body::Body for Relayed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(waiting) = &mut self.0 else { return Poll::Ready(None) };
        ready!(waiting.as_mut().poll(context));
        self.0 = None;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"relayed")))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(if self.0.is_some() { 7 } else { 0 })
    }
}

#[tokio::test]
async fn timeouts_do_not_close_a_connection_whose_response_comes_slowly() {
    let (time, gate) = (StoppedTime::begin(), gate());
    let held = Arc::clone(&gate);
    let relay = Mount::new(tower::service_fn(move |_request: policy_server::Request| {
        let gate = Arc::clone(&held);
        let waiting = async move { gate.acquire().await.expect("a gate").forget() };
        let body = Relayed(Some(Box::pin(waiting)));
        std::future::ready(Ok::<_, Infallible>(::http::Response::new(body)))
    }))
    .public();
    let app = app_with(&gate).mount("/relay", relay);
    let settings = idle_after(SHORT).header_timeout(SHORT);
    let server = Running::start(app.settings(settings)).await;
    let mut connection = server.connect().await;
    // The next request has already arrived.
    connection.send(get("/relay") + &get("/hello")).await;
    assert_eq!(connection.head().await.header("content-length"), Some("7"));
    time.pass(SHORT * 4).await;
    gate.add_permits(1);
    assert_eq!(connection.exactly(7).await, b"relayed");
    assert_eq!(connection.response().await.text(), "hello");
}
