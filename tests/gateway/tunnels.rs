//! Tunnels by CONNECT.

use policy_server::{
    AuthError, AuthRequirement, Clock, Request, ReverseProxy, Scheme, SchemeRequest, Tunnel,
    candidate::Candidate, tokens::SecretKey,
};
use policy_tests::{handlers::cut_off, http2};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};
use tower::util::MapRequestLayer;

use super::*;

const LOOPBACK: [&str; 1] = ["127.0.0.0/8"];

/// Returns what it received in upper case, once the other side has finished.
async fn target() -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let serving = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                stream.write_all(b"hello ").await.expect("a client");
                let mut input = Vec::new();
                // The tunnel may be cut.
                if stream.read_to_end(&mut input).await.is_ok() {
                    let _ = stream.write_all(&input.to_ascii_uppercase()).await;
                }
            });
        }
    });
    (address, serving)
}

fn open_to(target: SocketAddr) -> Tunnel {
    Tunnel::to([target.to_string()]).public().private(LOOPBACK)
}

fn connect(target: &str, fields: &[&str]) -> String {
    request(&format!("CONNECT {target}"), fields)
        .replace("host: localhost", &format!("host: {target}"))
}

/// Opens a tunnel and reads the target's greeting.
async fn open_tunnel(server: &Running, target: SocketAddr, fields: &[&str]) -> Connection {
    let mut connection = server.connect().await;
    connection.send(connect(&target.to_string(), fields)).await;
    let response = connection.head().await;
    assert_eq!(response.status, 200, "{response:?}");
    // RFC 9110 9.3.6.
    assert_eq!(response.header("content-length"), None);
    assert_eq!(response.header("transfer-encoding"), None);
    assert_eq!(connection.exactly(6).await, b"hello ");
    connection
}

#[tokio::test]
async fn tunnels_pass_on_bytes_both_ways_and_each_end_by_itself() {
    let (target, _serving) = target().await;
    let server = Running::start(app().tunnel(open_to(target))).await;
    let mut connection = open_tunnel(&server, target, &[]).await;
    connection.send("a secret").await;
    soon(connection.stream.shutdown()).await.expect("an end");
    assert_eq!(connection.rest().await, b"A SECRET");
    // More than all buffers on the way hold.
    let mut connection = open_tunnel(&server, target, &[]).await;
    let (mut read, mut write) = connection.stream.split();
    let long = vec![b'x'; 8 << 20];
    soon(write.write_all(&long)).await.expect("a tunnel");
    soon(write.shutdown()).await.expect("an end");
    let mut back = Vec::new();
    soon(read.read_to_end(&mut back)).await.expect("a response");
    assert!(back.len() == long.len() && back.iter().all(|byte| *byte == b'X'));
}

/// Bytes after the head, sent before the response, go to the target.
#[tokio::test]
async fn tunnels_lose_nothing_that_was_sent_early() {
    let (target, _serving) = target().await;
    let server = Running::start(app().tunnel(open_to(target))).await;
    let mut connection = server.connect().await;
    connection.send(connect(&target.to_string(), &[]) + "early").await;
    soon(connection.stream.shutdown()).await.expect("an end");
    assert_eq!(connection.head().await.status, 200);
    assert_eq!(connection.rest().await, b"hello EARLY");
}

#[tokio::test]
async fn tunnels_are_streams_of_http2_too() {
    let time = StoppedTime::begin();
    let (target, _serving) = target().await;
    let settings = ServerSettings::default().idle_timeout(Duration::from_millis(100));
    let server = Running::start(app().settings(settings).tunnel(open_to(target))).await;
    let (mut client, _ended) = http2::connect(&server).await;
    let connect = ::http::Request::connect(target.to_string()).body(()).expect("a request");
    let (response, mut sending) = client.send_request(connect, false).expect("a request");
    let response = soon(response).await.expect("a response");
    assert_eq!(response.status(), 200);
    let mut receiving = response.into_body();
    assert_eq!(soon(receiving.data()).await.expect("data").expect("data"), "hello ");
    // A connection with an open tunnel is not idle.
    time.pass(Duration::from_millis(300)).await;
    sending.send_data("a secret".into(), true).expect("a stream");
    let mut back = Vec::new();
    while let Some(data) = soon(receiving.data()).await {
        back.extend_from_slice(&data.expect("data"));
    }
    assert_eq!(back, b"A SECRET");
    // A target that is not allowed gets a normal response on the same connection.
    let connect = ::http::Request::connect("db.example:1").body(()).expect("a request");
    let (response, _) = client.send_request(connect, true).expect("a request");
    assert_eq!(soon(response).await.expect("a response").status(), 403);
}

#[tokio::test]
async fn tunnels_lead_to_nothing_else() {
    let (target, _serving) = target().await;
    let port = target.port();
    let closed_port = Port::reserve();
    let closed = closed_port.address;
    let (localhost, unknown) =
        (format!("localhost:{port}"), format!("no-such-host.invalid:{port}"));
    let tunnel = Tunnel::to([&*target.to_string(), &closed.to_string(), &unknown]).public();
    let server = Running::start(app().tunnel(tunnel.private(LOOPBACK))).await;
    let text = target.to_string();
    let with_user = format!("user@{text}");
    for (bytes, status, code) in [
        (connect("127.0.0.1:1", &[]), 403, "tunnel.target-not-listed"),
        (connect(&localhost, &[]), 403, "tunnel.target-not-listed"),
        (connect(&format!("127.0.0.3:{port}"), &[]), 403, "tunnel.target-not-listed"),
        (connect(&format!("[::ffff:127.0.0.3]:{port}"), &[]), 403, "tunnel.target-not-listed"),
        (connect(&closed.to_string(), &[]), 502, "tunnel.unreachable"),
        (connect(&unknown, &[]), 502, "tunnel.unreachable"),
        (connect(&text, &["origin: http://localhost"]), 403, "tunnel.origin"),
        (connect(&text, &["origin: null"]), 403, "tunnel.origin"),
        (request(&format!("CONNECT {text}"), &[]), 400, "wire.host-malformed"),
        (connect(&with_user, &[]), 400, "wire.target-form"),
    ] {
        let response = server.response(&bytes).await;
        assert_eq!(response.problem(), (status, code.to_owned()), "{bytes}");
    }
    // This app has no tunnels.
    let server = Running::start(app()).await;
    let response = server.response(connect(&text, &[])).await;
    assert_eq!(response.problem(), (400, "wire.target-form".to_owned()));
}

/// An allowed name may start to resolve to an internal address, so the address is checked too.
#[tokio::test]
async fn tunnels_do_not_turn_inside_with_the_name_of_their_target() {
    let (target, _serving) = target().await;
    let localhost = format!("localhost:{}", target.port());
    let tunnel = || Tunnel::to([&*localhost]).public();
    let server = Running::start(app().tunnel(tunnel())).await;
    let response = server.response(connect(&localhost, &[])).await;
    assert_eq!(response.problem(), (403, "tunnel.address-refused".to_owned()));
    let server = Running::start(app().tunnel(tunnel().private(["127.0.0.0/8", "::1"]))).await;
    let mut connection = server.connect().await;
    connection.send(connect(&localhost, &[])).await;
    assert_eq!(connection.head().await.status, 200);
}

#[tokio::test]
async fn tunnels_have_limits() {
    let (target, _serving) = target().await;
    let server = Running::start(app().tunnel(open_to(target).max_tunnels(1))).await;
    let first = open_tunnel(&server, target, &[]).await;
    let full = server.response(connect(&target.to_string(), &[])).await;
    assert_eq!(full.problem(), (503, "limit.concurrency".to_owned()));
    drop(first);
    // The permit is released once the server has seen the end.
    soon(async {
        while server.response_status(&connect(&target.to_string(), &[])).await != 200 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;

    // With a full queue, the system does not respond to new connections.
    let full = TcpSocket::new_v4().expect("a socket");
    full.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
    let full = full.listen(1).expect("a queue");
    let address = full.local_addr().expect("an address");
    let waiting = async || soon(TcpStream::connect(address)).await.expect("a place");
    let _queue = [waiting().await, waiting().await];
    let late = open_to(address).connect_timeout(Duration::from_millis(200));
    let server = Running::start(app().tunnel(late)).await;
    let response = server.response(connect(&address.to_string(), &[])).await;
    assert_eq!(response.problem(), (504, "tunnel.timed-out".to_owned()));

    let time = StoppedTime::begin();
    let idle = open_to(target).idle_timeout(Duration::from_millis(100));
    let server = Running::start(app().tunnel(idle)).await;
    let mut idle = open_tunnel(&server, target, &[]).await;
    time.until(idle.wait_for_close()).await;
}

#[tokio::test]
async fn tunnels_count_as_requests_until_they_end() {
    let (target, _serving) = target().await;
    let single = Policies::new().limits(Limits::NONE.concurrency(1));
    let server = Running::start(app().policies(single).tunnel(open_to(target))).await;
    let text = target.to_string();
    let first = open_tunnel(&server, target, &[]).await;
    let full = server.response(connect(&text, &[])).await;
    assert_eq!(full.problem(), (503, "limit.concurrency".to_owned()));
    drop(first);
    let (client, _ended) = http2::connect(&server).await;
    let open = async || {
        let mut client = soon(client.clone().ready()).await.expect("a stream");
        let connect = ::http::Request::connect(&*text).body(()).expect("a request");
        let (response, sending) = client.send_request(connect, false).expect("a request");
        let response = soon(response).await.expect("a response");
        (response.status().as_u16(), response.into_body(), sending)
    };
    let mut opened = None;
    until(async || {
        let (status, body, sending) = open().await;
        opened = (status == 200).then_some((body, sending));
        opened.is_some()
    })
    .await;
    assert_eq!(server.response_status(&connect(&text, &[])).await, 503);
    assert_eq!(open().await.0, 503);
    drop(opened);
    until(async || open().await.0 == 200).await;
}

/// Bytes for the target are not requests to this server.
#[tokio::test]
async fn tunnels_that_are_refused_end_the_connection() {
    let (target, _serving) = target().await;
    let tunnel = Tunnel::to([target.to_string()]).auth(AuthRequirement::scheme::<Basic>());
    let guarded = Running::start(app().scheme(Basic).tunnel(tunnel.private(LOOPBACK))).await;
    let elsewhere = Running::start(app().tunnel(open_to(target))).await;
    for (server, target, status) in
        [(&guarded, target.to_string(), 407), (&elsewhere, "192.0.2.1:443".to_owned(), 403)]
    {
        let mut connection = server.connect().await;
        let behind = request("GET /client", &[]);
        connection.send(connect(&target, &[]) + &behind).await;
        let response = connection.response().await;
        assert_eq!((response.status, response.header("connection")), (status, Some("close")));
        assert_eq!(connection.rest().await, b"");
    }
}

#[tokio::test]
async fn tunnels_end_with_the_server() {
    let (target, _serving) = target().await;
    let server = Running::start(app().tunnel(open_to(target))).await;
    let mut connection = open_tunnel(&server, target, &[]).await;
    soon(server.stop()).await.expect("an end");
    connection.wait_for_close().await;
}

struct Basic;

impl Scheme for Basic {
    const AMBIENT: bool = true;

    fn challenge(&self) -> Option<::http::HeaderValue> {
        Some(::http::HeaderValue::from_static("Basic realm=\"tunnel\""))
    }

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        match request.headers().get("authorization") {
            None => Ok(None),
            Some(credentials) if credentials == "Basic YWRhOjEyMw==" => {
                Ok(Some(Identity::new("ada")))
            }
            Some(_) => Err(AuthError::Invalid),
        }
    }
}

/// A layer around the app neither hides the credential from a scheme nor gives one.
#[tokio::test]
async fn tunnels_ask_for_credentials_as_a_proxy_does() {
    let (target, _serving) = target().await;
    let app = || {
        let tunnel = Tunnel::to([target.to_string()]).auth(AuthRequirement::scheme::<Basic>());
        app().scheme(Basic).tunnel(tunnel.private(LOOPBACK))
    };
    let writing = MapRequestLayer::new(|mut request: Request| {
        let credential = ::http::HeaderValue::from_static("Basic YWRhOjEyMw==");
        request.headers_mut().insert("proxy-authorization", credential);
        request
    });
    for app in [app(), app().layer(writing)] {
        let server = Running::start(app).await;
        for fields in [
            &[][..],
            &["proxy-authorization: Basic eDp5"],
            // For the target of the tunnel, not for this server.
            &["authorization: Basic YWRhOjEyMw=="],
        ] {
            let response = server.response(connect(&target.to_string(), fields)).await;
            assert_eq!(response.problem(), (407, "tunnel.credentials".to_owned()), "{fields:?}");
            assert_eq!(response.header("proxy-authenticate"), Some("Basic realm=\"tunnel\""));
            assert_eq!(response.header("www-authenticate"), None);
        }
        open_tunnel(&server, target, &["proxy-authorization: Basic YWRhOjEyMw=="]).await;
    }
}

#[post("/token")]
#[auth(public)]
async fn token(tokens: Tokens, scope: String) -> Result<String, Problem> {
    Ok(tokens.issue(&Identity::new("ada").scopes([scope]))?.access_token)
}

#[tokio::test]
async fn a_layer_cannot_write_the_token_of_a_tunnel() {
    let (target, _serving) = target().await;
    let tokens = Tokens::hs256([("k1", SecretKey::from_bytes([7; 32]))]).expect("keys");
    let tunnel = Tunnel::to([target.to_string()]).auth(AuthRequirement::token()).private(LOOPBACK);
    let copying = MapRequestLayer::new(|mut request: Request| {
        if let Some(value) = request.headers_mut().remove("x-tenant-token") {
            request.headers_mut().insert("proxy-authorization", value);
        }
        request
    });
    let app = app().tokens(tokens).routes(routes![token]).tunnel(tunnel).layer(copying);
    let server = Running::start(app).await;
    let issued = server.response(request("POST /token", &["content-length: 6"]) + "tunnel").await;
    let bearer = format!("Bearer {}", issued.text());
    let copied = format!("x-tenant-token: {bearer}");
    let response = server.response(connect(&target.to_string(), &[&copied])).await;
    assert_eq!(response.problem(), (407, "tunnel.credentials".to_owned()));
    open_tunnel(&server, target, &[&format!("proxy-authorization: {bearer}")]).await;
}

#[tokio::test]
async fn tunnels_end_with_the_token_that_opened_them() {
    let (target, _serving) = target().await;
    let clock = Clock::at(1_800_000_000);
    let tokens = Tokens::hs256([("k1", SecretKey::from_bytes([7; 32]))]).expect("keys");
    let tunnel = Tunnel::to([target.to_string()])
        .auth(AuthRequirement::token().scopes(&["tunnel"]))
        .private(LOOPBACK);
    let app = app().clock(clock.clone()).tokens(tokens).routes(routes![token, cut_off]);
    let server = Running::start(app.tunnel(tunnel)).await;
    let issued = async |scope: &str| {
        let length = format!("content-length: {}", scope.len());
        let response = server.response(request("POST /token", &[&length]) + scope).await;
        format!("proxy-authorization: Bearer {}", response.text())
    };
    let (good, poor) = (issued("tunnel").await, issued("other").await);
    let text = target.to_string();
    assert_eq!(server.response(connect(&text, &[&poor])).await.status, 403);
    let missing = server.response(connect(&text, &[])).await;
    assert_eq!(missing.status, 407);
    assert_eq!(missing.header("proxy-authenticate"), Some("Bearer realm=\"api\""));

    let mut revoked = open_tunnel(&server, target, &[&good]).await;
    clock.advance(Duration::from_secs(2));
    assert_eq!(server.response(request("POST /cut-off", &["content-length: 0"])).await.status, 200);
    revoked.wait_for_close().await;

    let again = issued("tunnel").await;
    let mut expired = open_tunnel(&server, target, &[&again]).await;
    clock.advance(Duration::from_secs(24 * 3600));
    expired.wait_for_close().await;
}

/// The candidate is first the policy in force, and then one with public tunnels.
#[tokio::test]
async fn a_candidate_decides_about_tunnels_and_proxies() {
    let (target, _serving) = target().await;
    let with = |tunnel: Tunnel| {
        let proxy = ReverseProxy::new("/api", "http://127.0.0.1:9").public();
        App::new(()).scheme(Basic).tunnel(tunnel).proxy(proxy)
    };
    let in_force = || {
        let tunnel = Tunnel::to([target.to_string()]).auth(AuthRequirement::scheme::<Basic>());
        with(tunnel.private(LOOPBACK))
    };
    let same = Candidate::new(in_force().manifest());
    let open = Candidate::new(with(open_to(target)).manifest());
    for candidate in [&same, &open] {
        let server = Running::start(in_force().report_only(candidate)).await;
        open_tunnel(&server, target, &["proxy-authorization: Basic YWRhOjEyMw=="]).await;
        for fields in [
            &[][..],
            &["proxy-authorization: Basic eDp5"],
            &["authorization: Basic YWRhOjEyMw=="],
            &["origin: http://localhost"],
        ] {
            server.response(connect(&target.to_string(), fields)).await;
        }
        // Nothing listens there.
        assert_eq!(server.response(request("GET /api/x", &[])).await.status, 502);
        for line in ["POST /api/x", "OPTIONS /api/x", "TRACE /api/x", "GET /nowhere"] {
            server.response(request(line, &["origin: https://evil.example"])).await;
        }
    }
    assert!(same.differences().is_empty(), "{:#?}", same.differences());
    assert_eq!((same.counts().agreed, same.counts().undecided), (10, 0));
    let found = open.differences();
    let found: Vec<_> = found.iter().map(|one| (one.decided, one.candidate, one.count)).collect();
    assert_eq!(found, [("tunnel.credentials", "reached", 3)]);
}

#[tokio::test]
async fn tunnels_do_not_start_where_they_could_not_be_used() {
    for (tunnel, codes) in [
        (
            Tunnel::to(["db.example:5432"]).auth(AuthRequirement::token()),
            &["auth.tokens-missing"][..],
        ),
        (
            Tunnel::to(["db.example:5432"]).auth(AuthRequirement::scheme::<Basic>()),
            &["auth.scheme-missing"],
        ),
        (
            Tunnel::to(["db.example:5432"]).auth(AuthRequirement::session().or_ticket()),
            &["tunnel.callers", "auth.sessions-missing", "auth.tokens-missing"],
        ),
        (
            Tunnel::to(["db.example:5432"]).auth(AuthRequirement::token().optional().roles(&[])),
            &["tunnel.callers", "auth.requirement-empty"],
        ),
        (
            Tunnel::to(["db.example", "10.0.0.1:22"]).public(),
            &["tunnel.target", "tunnel.target-private"],
        ),
    ] {
        let error = app().tunnel(tunnel).check().unwrap_err().to_string();
        for code in codes {
            assert!(error.contains(code), "{code} in {error}");
        }
    }
    let error = app().behind(TrustedProxies::new(["10.0.0.0/33"])).check().unwrap_err();
    let error = error.to_string();
    assert!(error.contains("App::behind: `10.0.0.0/33`: this is not a network"), "{error}");
    assert!(error.contains("proxies.unsaid"), "{error}");
}

/// TRACE echoes the fields of the request, without credentials.
#[tokio::test]
async fn trace_is_another_thing_than_a_tunnel() {
    let server = Running::start(app().trace()).await;
    let fields = ["x-seen: 1", "authorization: Bearer abc", "cookie: a=b"];
    let response = server.response(request("TRACE /any", &fields)).await;
    assert_eq!(response.header("content-type"), Some("message/http"));
    assert_eq!(response.text(), "TRACE /any HTTP/1.1\r\nhost: localhost\r\nx-seen: 1\r\n\r\n");
    for fields in [&["content-length: 1"][..], &["transfer-encoding: chunked"]] {
        let response = server.response(request("TRACE /any", fields) + "1\r\nx\r\n0\r\n\r\n").await;
        assert_eq!(response.problem(), (400, "wire.trace-content".to_owned()), "{fields:?}");
    }
}
