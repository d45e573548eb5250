//! WebSockets by axum, from pages of every kind.

use axum::extract::WebSocketUpgrade;
use policy_server::candidate::Candidate;
use policy_tests::websocket::{HANDSHAKE, assert_echo, echo};

use super::*;

#[get("/shop")]
#[auth(public)]
async fn shop(upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

#[get("/own")]
#[cors(none)]
#[auth(public)]
async fn own(upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

#[get("/everybody")]
#[cors(origins = ["*"])]
#[auth(public)]
async fn everybody(upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

/// One at a time, over HTTP/2 as well.
#[get("/single")]
#[limit(concurrency = 1)]
#[auth(public)]
async fn single(upgrade: WebSocketUpgrade) -> Response {
    echo(upgrade)
}

fn app() -> App<()> {
    App::new(()).policies(Policies::new().cors(SHOP)).routes(routes![shop, own, everybody, single])
}

/// An opening handshake.
fn opening(host: &str, path: &str, fields: &[&str]) -> String {
    let fields = [&HANDSHAKE[..], fields].concat();
    request(&format!("GET {path}"), &fields).replacen(
        "host: localhost",
        &format!("host: {host}"),
        1,
    )
}

async fn open(server: &Running, bytes: String) -> Connection {
    let mut connection = server.connect().await;
    connection.send(&bytes).await;
    let response = connection.head().await;
    assert_eq!(response.line, "HTTP/1.1 101 Switching Protocols", "{bytes}");
    assert_eq!(response.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(response.header("upgrade"), Some("websocket"));
    connection
}

async fn assert_refused(server: &Running, bytes: String) {
    let response = server.response(&bytes).await;
    let refused = (403, "cors.websocket-origin-not-granted".to_owned());
    assert_eq!(response.problem(), refused, "{bytes}");
    assert_eq!(response.sharing(), [""; 0]);
}

#[tokio::test]
async fn websockets_open_for_granted_and_own_origins() {
    let server = Running::start(app()).await;
    for (path, fields) in [
        ("/shop", &[][..]),
        ("/shop", &[ORIGIN]),
        ("/shop", &["origin: http://localhost"]),
        ("/own", &[]),
        ("/own", &["origin: http://localhost"]),
        ("/everybody", &["origin: https://evil.example"]),
    ] {
        assert_echo(&mut open(&server, opening("localhost", path, fields)).await).await;
    }
}

/// RFC 6455 10.2. There is no preflight for a WebSocket.
#[tokio::test]
async fn websockets_do_not_open_for_other_origins() {
    let server = Running::start(app()).await;
    for (path, fields) in [
        ("/shop", &["origin: https://evil.example"][..]),
        ("/shop", &["origin: null"]),
        ("/shop", &["origin: http://localhost:81"]),
        ("/shop", &["origin: https://localhost"]),
        ("/shop", &[ORIGIN, ORIGIN]),
        ("/own", &[ORIGIN]),
    ] {
        assert_refused(&server, opening("localhost", path, fields)).await;
    }
}

#[tokio::test]
async fn websockets_open_for_the_public_origin() {
    let server = Running::start(app().public_origin("https://api.example")).await;
    let own = opening("api.example", "/own", &["origin: https://api.example"]);
    assert_echo(&mut open(&server, own).await).await;
    let plain = opening("api.example", "/own", &["origin: http://api.example"]);
    assert_refused(&server, plain).await;
}

#[tokio::test]
async fn websockets_of_a_fallback_check_the_origin() {
    use axum_core::extract::FromRequestParts;

    let app = app().fallback(
        Fallback::handler(async |request: policy_server::Request| {
            let (mut parts, _body) = request.into_parts();
            match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
                Ok(upgrade) => echo(upgrade),
                Err(rejection) => rejection.into_response(),
            }
        })
        .public(),
    );
    let server = Running::start(app).await;
    assert_echo(&mut open(&server, opening("localhost", "/any", &[ORIGIN])).await).await;
    let foreign = opening("localhost", "/any", &["origin: https://evil.example"]);
    assert_refused(&server, foreign).await;
}

#[tokio::test]
async fn websockets_may_be_quiet_for_longer_than_a_connection() {
    let time = StoppedTime::begin();
    let settings = ServerSettings::default().idle_timeout(Duration::from_millis(200));
    let server = Running::start(app().settings(settings)).await;
    let mut connection = open(&server, opening("localhost", "/shop", &[ORIGIN])).await;
    time.pass(Duration::from_millis(800)).await;
    assert_echo(&mut connection).await;
}

#[tokio::test]
async fn websockets_count_as_connections() {
    let server = Running::start(app().settings(ServerSettings::default().max_connections(1))).await;
    let mut first = open(&server, opening("localhost", "/shop", &[])).await;
    let mut second = server.connect().await;
    second.send(opening("localhost", "/shop", &[])).await;
    assert_echo(&mut first).await;
    assert!(second.stream.try_read(&mut [0]).is_err());
    drop(first);
    assert_eq!(second.head().await.status, 101);
}

/// Asks until the limit lets one in.
async fn reopened(server: &Running) -> Connection {
    soon(async {
        loop {
            let mut connection = server.connect().await;
            connection.send(opening("localhost", "/single", &[])).await;
            match connection.head().await.status {
                101 => return connection,
                status => assert_eq!(status, 503),
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn websockets_count_as_requests_until_they_end() {
    let server = Running::start(app()).await;
    let mut first = open(&server, opening("localhost", "/single", &[])).await;
    for _ in 0..2 {
        let response = server.response(opening("localhost", "/single", &[])).await;
        assert_eq!(response.problem(), (503, "limit.concurrency".to_owned()));
        assert_echo(&mut first).await;
    }
    // Both ways to end: the client disconnects, or it sends a Close frame.
    drop(first);
    let mut second = reopened(&server).await;
    second.send(b"\x88\x80\0\0\0\0").await;
    assert_eq!(second.rest().await, b"\x88\0");
    assert_echo(&mut reopened(&server).await).await;
}

#[tokio::test]
async fn websockets_of_http_2_count_as_requests_until_they_end() {
    let candidate = Candidate::new(app().manifest());
    let server = Running::start(app().report_only(&candidate)).await;
    let client = http2::for_websockets(&server).await;
    let open = async || {
        let mut client = soon(client.clone().ready()).await.expect("a stream");
        let (response, sending) = client
            .send_request(http2::opening("/single", "websocket", &[]), false)
            .expect("a request");
        let response = soon(response).await.expect("a response");
        (response.status().as_u16(), response.into_body(), sending)
    };
    let (status, _body, mut sending) = open().await;
    assert_eq!(status, 200);
    for _ in 0..2 {
        assert_eq!(open().await.0, 503);
    }
    sending.send_reset(h2::Reason::CANCEL);
    until(async || open().await.0 == 200).await;
    // They open with the policy in force as the candidate, which cannot count their permits.
    let counts = candidate.counts();
    assert!(counts.agreed == 2 && counts.differed == 0 && counts.undecided >= 2, "{counts:?}");
}

#[tokio::test]
async fn a_candidate_decides_about_websockets_of_both_versions() {
    #[get("/everybody")]
    #[cors(none)]
    #[auth(session)]
    async fn everybody() {}

    let next = App::new(()).sessions(Sessions::memory()).routes(routes![everybody]);
    let candidate = Candidate::new(next.manifest());
    let server = Running::start(app().report_only(&candidate)).await;
    let fields = ["origin: http://localhost", "origin: https://evil.example"];
    for field in fields {
        open(&server, opening("localhost", "/everybody", &[field])).await;
    }
    let mut client = http2::for_websockets(&server).await;
    let request = http2::opening("/everybody", "websocket", &[("origin", "https://evil.example")]);
    let (response, _sending) = client.send_request(request, false).expect("a request");
    assert_eq!(soon(response).await.expect("a response").status(), 200);
    let mut found: Vec<_> = candidate
        .differences()
        .into_iter()
        .map(|one| (one.method.map(|method| method.to_string()), one.candidate, one.count))
        .collect();
    found.sort();
    let [get, connect] = ["GET", "CONNECT"].map(|name| Some(name.to_owned()));
    assert_eq!(
        found,
        [
            (connect, "cors.websocket-origin-not-granted", 1),
            (get.clone(), "auth.credentials-missing", 1),
            (get, "cors.websocket-origin-not-granted", 1),
        ]
    );
}

#[tokio::test]
async fn websockets_open_where_connections_have_one_request() {
    let app = app().settings(ServerSettings::default().one_request_per_connection());
    let server = Running::start(app).await;
    assert_echo(&mut open(&server, opening("localhost", "/shop", &[ORIGIN])).await).await;
}

#[tokio::test]
async fn websockets_do_not_hold_up_the_end_of_the_server() {
    let server = Running::start(app()).await;
    let mut connection = open(&server, opening("localhost", "/shop", &[])).await;
    assert_echo(&mut connection).await;
    soon(server.stop()).await.expect("an end");
}
