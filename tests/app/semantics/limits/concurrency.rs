//! How many requests may run at once.

use super::*;

#[get("/wait")]
#[limit(concurrency = 2)]
#[auth(public)]
async fn wait(State(gate): State<Gate>, request: Request) -> &'static str {
    if request.uri().query() != Some("now") {
        gate.pass().await;
    }
    "waited"
}

#[get("/streamed")]
#[limit(concurrency = 2)]
#[auth(public)]
async fn streamed(State(gate): State<Gate>) -> Body {
    let chunks = stream::unfold(gate, async |gate| {
        gate.pass().await;
        Some((Ok::<_, Infallible>("tick"), gate))
    });
    Body::from_stream(chunks)
}

#[get("/fails")]
#[limit(concurrency = 1)]
#[auth(public)]
async fn fails() {
    panic!("a panic on purpose");
}

#[get("/hangs")]
#[limit(concurrency = 1, timeout = "30ms")]
#[auth(public)]
async fn hangs() {
    pending::<()>().await;
}

/// Repeats a request until its response has this status: permits are released on another task.
async fn until(server: &Running, line: &str, status: u16) {
    let is_so = async || {
        let mut connection = server.connect().await;
        connection.send(request(line, &[])).await;
        connection.head().await.status == status
    };
    policy_tests::http::until(is_so).await;
}

#[tokio::test]
async fn permits_are_held_exactly_while_a_request_runs() {
    let seen = Seen::default();
    let routes = routes![wait, streamed, fails, hangs];
    let app = App::new(seen.clone()).policies(Policies::new().cors(SHOP)).routes(routes);
    let server = Running::start(app).await;
    // One handler that waits, and one whose client goes away.
    let mut waiting = server.connect().await;
    waiting.send(request("GET /wait", &[])).await;
    let mut leaving = server.connect().await;
    leaving.send(request("GET /wait", &[])).await;
    seen.gate.reached(2).await;
    let refused = ask(&server, "GET /wait?now", &[PAGE]).await;
    assert_eq!(code(&refused), (503, "limit.concurrency".to_owned()));
    assert_eq!(refused.sharing(), SHARED);
    assert_eq!(refused.header("cache-control"), Some("no-store"));
    assert!(refused.header("retry-after").is_some());
    drop(leaving);
    until(&server, "GET /wait?now", 200).await;
    seen.gate.open.add_permits(1);
    assert_eq!(waiting.response().await.text(), "waited");
    // Streams hold their permits until they end, which here is when the client goes away.
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut connection = server.connect().await;
        connection.send(request("GET /streamed", &[])).await;
        assert_eq!(connection.head().await.status, 200);
        streams.push(connection);
    }
    for _ in 0..5 {
        assert_eq!(ask(&server, "GET /streamed", &[]).await.status, 503);
    }
    seen.gate.open.add_permits(1);
    drop(streams.pop());
    until(&server, "HEAD /streamed", 200).await;
    // HEAD of a stream holds no permit.
    for _ in 0..5 {
        assert_eq!(ask(&server, "HEAD /streamed", &[]).await.status, 200);
    }
    // Nor does a stream that failed or was cut off.
    for _ in 0..3 {
        assert_eq!(ask(&server, "GET /fails", &[]).await.status, 500);
        assert_eq!(code(&ask(&server, "GET /hangs", &[]).await).1, "handler.timed-out");
    }
}

#[tokio::test]
async fn places_of_the_app_are_for_all_routes_that_take_them_over() {
    #[get("/wait")]
    #[auth(public)]
    async fn waits(State(gate): State<Gate>) -> &'static str {
        gate.pass().await;
        "waited"
    }

    #[get("/quick")]
    #[auth(public)]
    async fn quick() -> &'static str {
        "quick"
    }

    #[get("/own")]
    #[limit(concurrency = 1)]
    #[auth(public)]
    async fn own() -> &'static str {
        "own"
    }

    let gate = Gate::default();
    let app = App::new(gate.clone())
        .policies(Policies::new().cors(SHOP).limits(Limits::NONE.concurrency(1)));
    let server = Running::start(app.routes(routes![waits, quick, own])).await;
    let mut waiting = server.connect().await;
    waiting.send(request("GET /wait", &[])).await;
    gate.reached(1).await;
    for (line, status) in [
        ("GET /quick", 503),
        ("HEAD /quick", 503),
        ("GET /own", 200),
        // Responses without a handler take no permit.
        ("GET /nowhere", 404),
        ("PUT /quick", 405),
        ("OPTIONS /quick", 204),
    ] {
        assert_eq!(ask(&server, line, &[]).await.status, status, "{line}");
    }
    gate.open.add_permits(1);
    assert_eq!(waiting.response().await.text(), "waited");
    assert_eq!(ask(&server, "GET /quick", &[]).await.status, 200);
}
