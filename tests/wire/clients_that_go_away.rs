//! Handlers whose client disconnects.

use policy_server::Body;

use super::*;

#[derive(Clone)]
struct Events(mpsc::UnboundedSender<&'static str>);

/// Reports its creation and its drop.
struct Guard(Events);

impl Guard {
    fn new(events: &Events) -> Self {
        // The test may be over.
        let _ = events.0.send("begun");
        Self(events.clone())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.0.send("dropped");
    }
}

#[get("/wait")]
#[auth(public)]
async fn wait(State(events): State<Events>) {
    let _guard = Guard::new(&events);
    pending::<()>().await;
}

#[post("/read")]
#[auth(public)]
async fn read(State(events): State<Events>, body: Body) {
    let _guard = Guard::new(&events);
    // A handler that goes on without the body does so until its time-out: for all the server knows,
    // the client still waits for the response.
    if http_body_util::BodyExt::collect(body).await.is_ok() {
        pending::<()>().await;
    }
}

#[get("/stream")]
#[auth(public)]
async fn stream(State(events): State<Events>) -> Response {
    let guard = Guard::new(&events);
    let chunks = futures_util::stream::unfold(guard, async |guard| {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Some((Ok::<_, std::convert::Infallible>("data: 1\n\n"), guard))
    });
    Response::new(Body::from_stream(chunks))
}

#[tokio::test]
async fn clients_that_go_away_take_their_handler_with_them() {
    let (events, mut seen) = mpsc::unbounded_channel();
    let server =
        Running::start(App::new(Events(events)).routes(routes![hello, wait, read, stream])).await;
    for bytes in [
        request("GET /wait", &[]),
        request("POST /read", &["content-length: 50"]) + "half",
        request("POST /read", &["content-length: 4"]) + "full",
        request("GET /stream", &[]),
    ] {
        let mut connection = server.connect().await;
        connection.send(&bytes).await;
        assert_eq!(soon(seen.recv()).await, Some("begun"), "{bytes}");
        drop(connection);
        assert_eq!(soon(seen.recv()).await, Some("dropped"), "{bytes}");
    }
    assert_serving(&server).await;
}
