//! TLS handshakes.

use tokio::io::AsyncReadExt;
use tokio_rustls::rustls::{HandshakeKind, ProtocolVersion, version};

use super::{client::exchange, process::*, *};

const GET: &str = "GET /hello HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

/// RFC 7301 3.2: the server selects the protocol, and refuses a client that offers no supported
/// one.
#[tokio::test]
async fn handshakes_agree_on_a_protocol() {
    let (tls, authority) = identity("protocols");
    let server = Secure::start(app().tls(tls)).await;
    for (offered, agreed) in [
        (&["h2", "http/1.1"][..], Some("h2")),
        (&["http/1.1", "h2"], Some("h2")),
        (&["http/1.1"], Some("http/1.1")),
        (&["spdy/3", "http/1.1"], Some("http/1.1")),
        (&[], None),
    ] {
        let client = Client::with(authority.certificate(), &[&version::TLS13], offered);
        let mut stream = client.connect(server.address).await;
        let found = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        assert_eq!(found.as_deref(), agreed.map(str::as_bytes), "{offered:?}");
        if agreed == Some("h2") {
            assert_eq!(over_http2(stream).await, "HTTP/2.0 200 OK hello");
        } else {
            let response = exchange(&mut stream, GET).await;
            assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
            assert!(response.ends_with("\r\n\r\nhello"), "{response}");
        }
    }
    let client = Client::with(authority.certificate(), &[&version::TLS13], &["spdy/3"]);
    let error = client.try_connect(server.address, "localhost").await.expect_err("an alert");
    assert!(error.to_string().contains("NoApplicationProtocol"), "{error}");
}

/// A stop refuses nothing that had connected: the request after the handshake is served.
#[tokio::test]
async fn handshakes_are_followed_by_a_response_when_the_server_stops() {
    const GET: &str = "GET /hello HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let (tls, authority) = identity("stops");
    let server = http::Running::start(app().tls(tls)).await;
    let client = Client::with(authority.certificate(), &[&version::TLS13], &["http/1.1"]);
    let mut stream = client.connect(server.address).await;
    let stopped = server.stop();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let response = exchange(&mut stream, GET).await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.contains("\r\nconnection: close\r\n"), "{response}");
    soon(stopped).await.expect("a server that stops");
}

async fn over_http2(stream: client::Stream) -> String {
    let (mut client, connection) = soon(h2::client::handshake(stream)).await.expect("HTTP/2");
    tokio::spawn(connection);
    let request = ::http::Request::get("https://localhost/hello").body(()).expect("a request");
    let (response, _body) = client.send_request(request, true).expect("a request");
    let (head, mut body) = soon(response).await.expect("a response").into_parts();
    let mut text = format!("{:?} {} ", head.version, head.status);
    while let Some(data) = soon(body.data()).await {
        text.push_str(str::from_utf8(&data.expect("a body")).expect("a text"));
    }
    text
}

#[tokio::test]
async fn handshakes_are_of_tls_1_2_and_1_3_and_sessions_are_resumed() {
    let (tls, authority) = identity("versions");
    let server = Secure::start(app().tls(tls)).await;
    for (version, number) in
        [(&version::TLS12, ProtocolVersion::TLSv1_2), (&version::TLS13, ProtocolVersion::TLSv1_3)]
    {
        let client = Client::with(authority.certificate(), &[version], &["http/1.1"]);
        for kind in [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Resumed] {
            let mut stream = client.connect(server.address).await;
            assert!(exchange(&mut stream, GET).await.ends_with("hello"));
            let connection = stream.get_ref().1;
            assert_eq!(connection.protocol_version(), Some(number));
            assert_eq!(connection.handshake_kind(), Some(kind), "{number:?}");
        }
    }
}

/// A ClientHello whose best version is 1.`minor` - 1 (RFC 5246 7.4.1.2), for ECDSA on P-256.
fn hello(minor: u8) -> Vec<u8> {
    let extensions = [
        // supported_groups, ec_point_formats, signature_algorithms
        &[0, 10, 0, 4, 0, 2, 0, 23][..],
        &[0, 11, 0, 2, 1, 0],
        &[0, 13, 0, 4, 0, 2, 4, 3],
        // extended_master_secret
        &[0, 23, 0, 0],
    ]
    .concat();
    // Version, 32 random bytes, no session, two suites, no compression.
    let suites = [0, 0, 4, 0xc0, 0x2b, 0xc0, 0x09, 1, 0, 0, extensions.len() as u8];
    let body = [&[3, minor][..], &[7; 32], &suites, &extensions].concat();
    let length = body.len() as u8;
    [&[22, 3, 1, 0, length + 4, 1, 0, 0, length][..], &body].concat()
}

#[tokio::test]
async fn handshakes_of_older_versions_are_refused() {
    let (tls, authority) = identity("older");
    let server = Secure::start(app().tls(tls)).await;
    for minor in [0, 1, 2] {
        let mut old = Connection::open(server.address).await;
        old.send(hello(minor)).await;
        // A fatal alert: protocol_version (RFC 5246 7.2.2).
        let alert = old.rest().await;
        assert_eq!((alert[0], &alert[5..]), (21, &[2, 70][..]), "{minor}: {alert:?}");
    }
    let mut good = Connection::open(server.address).await;
    good.send(hello(3)).await;
    assert_eq!(good.exactly(6).await[5], 2, "a ServerHello: it was about the version");
    assert_serving(&server, &authority).await;
}

async fn assert_serving(server: &Secure, authority: &Authority) {
    let client = Client::trusting(authority.certificate());
    assert!(client.get(server.address, "localhost", "/hello").await.ends_with("hello"));
}

#[tokio::test]
async fn handshakes_of_plain_http_are_closed() {
    let (tls, authority) = identity("plain");
    let server = Secure::start(app().tls(tls)).await;
    for bytes in [request("GET /hello", &[]), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()] {
        let mut plain = Connection::open(server.address).await;
        plain.send(bytes).await;
        let mut rest = Vec::new();
        // In order, which a reset connection is not.
        soon(plain.stream.read_to_end(&mut rest)).await.expect("an orderly end");
        assert_eq!(rest.first(), Some(&21), "an alert of TLS and nothing of HTTP: {rest:?}");
        assert!(rest.len() <= 7, "{rest:?}");
    }
    assert_serving(&server, &authority).await;
}

#[tokio::test]
async fn handshakes_that_take_too_long_are_cut() {
    let time = StoppedTime::begin();
    let limit = Duration::from_millis(300);
    let (tls, authority) = identity("slow");
    let settings = ServerSettings::default().header_timeout(limit);
    let server = Secure::start(app().tls(tls).settings(settings)).await;
    // Nothing, the beginning of a ClientHello, and one that is sent byte by byte.
    for begun in [0, 20] {
        let mut slow = Connection::open(server.address).await;
        slow.send(&hello(3)[..begun]).await;
        assert!(time.until(slow.wait_for_close()).await >= limit * 3 / 4, "{begun}");
    }
    let mut dripping = Connection::open(server.address).await;
    let begun = tokio::time::Instant::now();
    for byte in hello(3).iter().take(40) {
        if !dripping.try_send([*byte]).await {
            break;
        }
        time.pass(limit / 10).await;
    }
    assert!(dripping.rest().await.is_empty());
    assert!(begun.elapsed() >= limit * 3 / 4);
    assert_serving(&server, &authority).await;
}

#[tokio::test]
async fn handshakes_count_as_connections() {
    let time = StoppedTime::begin();
    let (tls, authority) = identity("counted");
    let settings = ServerSettings::default().header_timeout(Duration::from_millis(300));
    let server = Secure::start(app().tls(tls).settings(settings.max_connections(1))).await;
    let waiting = Connection::open(server.address).await;
    let begun = tokio::time::Instant::now();
    // A slot is free when the first handshake has timed out.
    time.until(assert_serving(&server, &authority)).await;
    assert!(begun.elapsed() >= Duration::from_millis(200));
    drop(waiting);
}

/// As many as a small attacker has, in a process with descriptors for both ends.
#[test]
fn handshakes_that_never_end_do_not_keep_others_from_being_served() {
    const HALF_OPEN: usize = 1000;

    if role().is_none() {
        let test = "handshakes::handshakes_that_never_end_do_not_keep_others_from_being_served";
        return succeeds(&mut again(test, "both"));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let (tls, authority) = identity("half-open");
        let server = Secure::start(app().tls(tls)).await;
        let mut half_open = Vec::new();
        for count in 0..HALF_OPEN {
            let mut connection = Connection::open(server.address).await;
            connection.send(&hello(3)[..count % 50]).await;
            half_open.push(connection);
        }
        let client = Client::trusting(authority.certificate());
        for _ in 0..20 {
            assert!(client.get(server.address, "localhost", "/hello").await.ends_with("hello"));
        }
        assert_eq!(half_open.len(), HALF_OPEN);
    });
}

#[tokio::test]
#[ignore = "needs curl"]
async fn handshakes_with_curl_over_both_versions_of_http() {
    let (tls, authority) = identity("curl");
    let trusted = folder("curl-authority").join("authority.pem");
    fs::write(&trusted, authority.pem()).expect("a file");
    let server = Secure::start(app().tls(tls)).await;
    let url = format!("https://localhost:{}/hello", server.address.port());
    let trusted = trusted.to_str().expect("a path");
    let what = "%{http_version} %{response_code} %{ssl_verify_result}";
    for (flags, version) in [
        (&["--http2", "--tlsv1.3"][..], "2"),
        (&["--http1.1", "--tlsv1.3"], "1.1"),
        (&["--http2", "--tls-max", "1.2"], "2"),
        (&["--no-alpn", "--tls-max", "1.2"], "1.1"),
    ] {
        let found = client::curl(&[flags, &["--cacert", trusted, "-w", what, &url]].concat()).await;
        assert_eq!(found, (true, format!("hello{version} 200 0")), "{flags:?}");
    }
    let (succeeded, output) = client::curl(&[&url]).await;
    assert!(!succeeded && output.contains("certificate"), "nobody else is trusted: {output}");
}

#[tokio::test]
async fn handshakes_are_not_waited_for_at_the_end() {
    let (tls, _authority) = identity("end");
    let server = app().tls(tls).bind("127.0.0.1:0").await.expect("an app that starts");
    let (address, (stop, stopping)) = (server.local_addr(), tokio::sync::oneshot::channel::<()>());
    let stopped = tokio::spawn(server.run_until(async { stopping.await.expect("a stop") }));
    let mut waiting = Connection::open(address).await;
    waiting.send(&hello(3)[..20]).await;
    stop.send(()).expect("a server");
    soon(stopped).await.expect("an end");
    waiting.wait_for_close().await;
}
