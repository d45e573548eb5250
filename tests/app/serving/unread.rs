//! Clients that do not read their responses: how much memory they occupy, and for how long.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use policy_server::{Clock, tokens::SecretKey};

use super::{
    timeouts::{SHORT, idle_after, narrow},
    *,
};

const MIB: usize = 1 << 20;

/// How many bodies handlers have made.
type Made = Arc<AtomicUsize>;

fn body(count: &Made, length: usize) -> Bytes {
    count.fetch_add(1, SeqCst);
    Bytes::from(vec![b'x'; length])
}

#[get("/block")]
#[auth(public)]
async fn block(State(count): State<Made>) -> Bytes {
    body(&count, MIB)
}

#[get("/large-block")]
#[auth(public)]
async fn large_block(State(count): State<Made>) -> Bytes {
    body(&count, LARGE)
}

/// Counts as one that makes a body, and never does.
#[get("/stuck")]
#[auth(public)]
async fn stuck(State(count): State<Made>) -> Bytes {
    count.fetch_add(1, SeqCst);
    pending().await
}

/// Endless, in frames that are too small to be counted.
#[get("/small-frames")]
#[auth(public)]
async fn small_frames() -> Body {
    let frame = Bytes::from_static(&[b'x'; 1024]);
    Body::from_stream(stream::repeat(Ok::<_, Infallible>(frame)))
}

async fn serving(count: &Made, settings: ServerSettings) -> Running {
    let routes = routes![block, large_block, stuck, small_frames, hello];
    Running::start(App::new(Arc::clone(count)).settings(settings).routes(routes)).await
}

/// Sends a request without waiting for its response.
async fn send_request(client: &mut http2::Client, path: &str) -> h2::client::ResponseFuture {
    *client = soon(client.clone().ready()).await.expect("a connection");
    client.send_request(http2::get(path), true).expect("a request").0
}

/// Sends this many requests at once, and returns their responses.
async fn send_requests(
    client: &mut http2::Client,
    count: usize,
) -> Vec<h2::client::ResponseFuture> {
    let mut responses = Vec::new();
    for _ in 0..count {
        responses.push(send_request(client, "/block").await);
    }
    responses
}

/// The length of a body that is read to its end.
async fn length(mut body: h2::RecvStream) -> Result<usize, h2::Error> {
    let mut length = 0;
    while let Some(data) = soon(body.data()).await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        length += data.len();
    }
    Ok(length)
}

#[tokio::test]
async fn unread_responses_of_a_connection_make_its_next_requests_wait() {
    const REQUESTS: usize = 20;
    let count = Made::default();
    let settings = ServerSettings::default().max_unsent_per_connection(4 * MIB);
    let server = serving(&count, settings).await;
    let (mut client, _connection) = http2::connect(&server).await;
    let mut responses = send_requests(&mut client, REQUESTS).await.into_iter();
    let first = soon(responses.next().expect("a response")).await.expect("a response");
    // Another connection is served at once, and by then the requests of this one have arrived.
    assert_hello(&mut server.connect().await).await;
    assert_eq!(count.load(SeqCst), 4);
    // A client that reads gets everything.
    let rest = responses
        .map(|response| tokio::spawn(async { length(soon(response).await?.into_body()).await }));
    let rest: Vec<_> = rest.collect();
    drop(first);
    for read in rest {
        assert_eq!(read.await.expect("no panic").expect("a body"), MIB);
    }
    assert_eq!(count.load(SeqCst), REQUESTS);
}

#[tokio::test]
async fn a_request_that_is_given_up_passes_its_turn_on() {
    let count = Made::default();
    let settings = ServerSettings::default().max_unsent_per_connection(2 * MIB);
    let server = serving(&count, settings).await;
    let (mut client, _connection) = http2::connect(&server).await;
    let responses = send_requests(&mut client, 2).await;
    let stuck = send_request(&mut client, "/stuck").await;
    let last = send_request(&mut client, "/block").await;
    let mut unread = Vec::new();
    for response in responses {
        unread.push(soon(response).await.expect("a response"));
    }
    drop(unread.pop());
    until(async || count.load(SeqCst) >= 3).await;
    drop(stuck);
    assert_eq!(soon(last).await.expect("a response").status(), 200);
}

#[post("/token")]
#[auth(public)]
async fn token(tokens: Tokens) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new("ada"))?.access_token)
}

#[get("/guarded")]
#[limit(concurrency = 1)]
#[auth(token)]
async fn guarded() {}

/// Otherwise a client could keep permits for as long as it likes, and have a handler run long after
/// its token has ended.
#[tokio::test]
async fn a_request_that_waits_has_no_permit_and_its_token_is_not_checked_yet() {
    let clock = Clock::at(1_800_000_000);
    let app = App::new(Made::default())
        .clock(clock.clone())
        .tokens(Tokens::hs256([("k1", SecretKey::from_bytes([7; 32]))]).expect("keys"))
        .settings(ServerSettings::default().max_unsent_per_connection(MIB))
        .routes(routes![block, token, guarded, hello]);
    let server = Running::start(app).await;
    let issued = server.response(request("POST /token", &["content-length: 0"])).await;
    let bearer = format!("Bearer {}", issued.text());
    let (mut client, _connection) = http2::connect(&server).await;
    let unread = soon(send_request(&mut client, "/block").await).await.expect("a response");
    let fields = [("authorization", &*bearer)];
    let asks = policy_tests::http2::request("GET", "http://localhost/guarded", &fields);
    client = soon(client.ready()).await.expect("a connection");
    let (waiting, _) = client.send_request(asks, true).expect("a request");
    // Another connection is served, and by then the request of this one has arrived.
    assert_hello(&mut server.connect().await).await;
    let authorization = format!("authorization: {bearer}");
    let other = server.response(request("GET /guarded", &[&authorization])).await;
    assert_eq!(other.status, 200);
    clock.advance(Duration::from_secs(24 * 3_600));
    assert_eq!(length(unread.into_body()).await.expect("a body"), MIB);
    assert_eq!(soon(waiting).await.expect("a response").status(), 401);
}

/// Over HTTP/1.1, where a client may send requests before it has read the responses to others.
#[tokio::test]
async fn pipelined_requests_wait_for_a_reader() {
    const REQUESTS: usize = 3;
    let count = Made::default();
    let server = serving(&count, ServerSettings::default().max_unsent_per_connection(LARGE)).await;
    let mut connection = narrow(&server).await;
    connection.send(get("/large-block").repeat(REQUESTS)).await;
    assert_eq!(connection.head().await.status, 200);
    assert_hello(&mut server.connect().await).await;
    assert_eq!(count.load(SeqCst), 1);
    assert_eq!(connection.exactly(LARGE).await.len(), LARGE);
    for _ in 1..REQUESTS {
        assert_eq!(connection.response().await.body.len(), LARGE);
    }
    assert_eq!(count.load(SeqCst), REQUESTS);
}

#[tokio::test]
async fn requests_that_wait_for_a_reader_do_not_keep_its_connection() {
    let (time, count) = (StoppedTime::begin(), Made::default());
    let settings = idle_after(SHORT).max_connections(1).max_unsent_per_connection(MIB);
    let server = serving(&count, settings).await;
    let (mut client, _connection) = http2::connect(&server).await;
    let responses = send_requests(&mut client, 5).await;
    // There is room for another connection as soon as the first one is gone.
    let mut next = server.connect().await;
    next.send(get("/hello")).await;
    assert_eq!(time.until(next.head()).await.status, 200);
    assert_eq!(count.load(SeqCst), 1);
    drop(responses);
}

#[tokio::test]
async fn of_all_connections_the_oldest_unread_ones_are_closed() {
    let count = Made::default();
    let settings = ServerSettings::default()
        .max_unsent_total(2 * LARGE + LARGE / 2)
        .max_unsent_per_connection(2 * LARGE);
    let server = serving(&count, settings).await;
    let mut connections = Vec::new();
    for _ in 0..4 {
        let mut connection = narrow(&server).await;
        connection.send(get("/large-block")).await;
        assert_eq!(connection.head().await.status, 200);
        connections.push(connection);
    }
    for (nth, mut connection) in connections.into_iter().enumerate() {
        if nth < 2 {
            assert!(soon(connection.rest()).await.len() < LARGE, "{nth}");
        } else {
            assert_eq!(connection.exactly(LARGE).await.len(), LARGE);
        }
    }
}

/// Over HTTP/2: a client above the bound of its connection loses its streams before a client that
/// has not read for longer.
#[tokio::test]
async fn of_all_connections_one_above_its_own_bound_is_closed_first() {
    let settings = ServerSettings::default()
        .max_unsent_total(3 * MIB + MIB / 2)
        .max_unsent_per_connection(2 * MIB);
    let server = serving(&Made::default(), settings).await;
    let mut connections = Vec::new();
    for requests in [1, 2, 1] {
        let (mut client, connection) = http2::connect(&server).await;
        let mut bodies = Vec::new();
        for response in send_requests(&mut client, requests).await {
            bodies.push(soon(response).await.expect("a response").into_body());
        }
        connections.push((client, connection, bodies));
    }
    for (nth, (_client, _connection, bodies)) in connections.into_iter().enumerate() {
        for body in bodies {
            let read = length(body).await;
            assert_eq!(read.ok(), (nth != 1).then_some(MIB), "{nth}");
        }
    }
}

#[tokio::test]
async fn further_requests_do_not_keep_a_connection_that_is_not_read() {
    let time = StoppedTime::begin();
    // The smaller window of the stream leaves the connection room for the responses to other requests.
    for (path, window) in [("/block", 65_535), ("/block", 32_000), ("/small-frames", 65_535)] {
        let server = serving(&Made::default(), idle_after(SHORT).min_read_rate(1 << 20)).await;
        let (mut client, _connection) = http2::connect_with(&server, window).await;
        let _unread = send_request(&mut client, path).await;
        let mut requests = 0;
        while let Ok(mut ready) = soon(client.clone().ready()).await
            && let Ok((response, _)) = ready.send_request(http2::get("/hello"), true)
            && soon(response).await.is_ok()
        {
            requests += 1;
            assert!(requests < 50, "{path} {window}: it is still open");
            time.pass(SHORT / 8).await;
        }
        assert!(requests > 0, "{path} {window}");
    }
}

/// How many of 30 portions an HTTP/2 client gets that reads 1,000 bytes of an endless body in each
/// interval.
async fn portions(time: &StoppedTime, server: &Running, interval: Duration) -> usize {
    let (mut client, _connection) = http2::connect_with(server, 1_000).await;
    let (response, _) = client.send_request(http2::get("/large-stream"), true).expect("a request");
    let mut body = soon(response).await.expect("a response").into_body();
    let mut portions = 0;
    while portions < 30
        && let Some(Ok(data)) = soon(body.data()).await
    {
        body.flow_control().release_capacity(data.len()).expect("its window");
        portions += 1;
        time.pass(interval).await;
    }
    portions
}

#[tokio::test]
async fn a_client_that_reads_less_than_the_stated_rate_is_closed() {
    let time = StoppedTime::begin();
    for (rate, is_closed) in [(64, false), (1 << 20, true)] {
        let server = Running::start(app().settings(idle_after(SHORT).min_read_rate(rate))).await;
        let portions = portions(&time, &server, SHORT / 4).await;
        assert_eq!(portions < 30, is_closed, "{rate}: {portions}");
    }
}
