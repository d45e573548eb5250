//! Connections: their limits, their migration to another address, and their end.

use std::{future::pending, net::UdpSocket};

use policy_server::{Metrics, Tls, TrustedProxies};

use super::*;

const NO_ERROR: u64 = 0x100;
const REJECTED: u64 = 0x10b;

#[tokio::test]
async fn a_client_may_move_and_counts_by_the_address_of_its_handshake() {
    let (site, mut seen) = site();
    let server = Server::start(app_with(&site)).await;
    let client = server.client();
    let quic = client.connect(server.address(), "localhost").unwrap();
    let mut session = Session::over(soon(quic).await.unwrap()).await;
    let first = client.local_addr().unwrap().to_string();
    assert_eq!(session.response(request("GET", "/peer"), "").await.text(), first);
    let mut waiting = session.send(request("GET", "/wait")).await;
    soon(waiting.finish()).await.unwrap();
    assert_eq!(soon(seen.recv()).await, Some("begun"));

    client.rebind(UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
    assert_ne!(client.local_addr().unwrap().to_string(), first);
    assert_eq!(session.response(request("GET", "/peer"), "").await.text(), first);
    site.gate.add_permits(1);
    assert_eq!(client::read(&mut waiting).await.unwrap().text(), "waited", "what was under way");
}

#[tokio::test]
async fn the_next_release_serves_http3_when_this_one_has_ended() {
    let shared = ServerSettings::default().shared_port();
    let server = Server::start(app().settings(shared.clone())).await;
    let (address, client) = (server.address(), server.client());
    let next = app().settings(shared).tls(Tls::development(server.folder()).http3());
    let next = next.bind(address).await.unwrap();
    tokio::spawn(next.run_until(pending()));
    soon(server.stop()).await.unwrap();
    let quic = client.connect(address, "localhost").unwrap();
    let mut session = Session::over(soon(quic).await.unwrap()).await;
    assert_eq!(session.response(request("GET", "/hello"), "").await.text(), "hello");
}

#[tokio::test]
async fn there_are_no_more_connections_than_allowed() {
    let server = Server::start(app().settings(ServerSettings::default().max_connections(2))).await;
    let mut first = server.connect().await;
    let second = server.connect().await;
    let refused = server.client().connect(server.address(), "localhost").unwrap();
    let refused = soon(refused).await.unwrap_err();
    assert!(matches!(refused, quinn::ConnectionError::ConnectionClosed(_)), "{refused}");
    assert_eq!(first.response(request("GET", "/hello"), "").await.text(), "hello");
    second.quic.close(0_u32.into(), b"");
    // Its slot is released.
    let mut third = loop {
        let quic = server.client().connect(server.address(), "localhost").unwrap();
        if let Ok(quic) = soon(quic).await {
            break Session::over(quic).await;
        }
    };
    assert_eq!(third.response(request("GET", "/hello"), "").await.text(), "hello");
}

/// Its client is unknown: QUIC has no header of the PROXY protocol.
#[tokio::test]
async fn a_proxy_that_states_its_client_by_a_header_is_refused() {
    for (network, is_served) in [("127.0.0.1", false), ("10.0.0.0/8", true)] {
        let app = app().behind(TrustedProxies::new([network]).proxy_protocol());
        let server = Server::start(app).await;
        let quic = server.client().connect(server.address(), "localhost").unwrap();
        assert_eq!(soon(quic).await.is_ok(), is_served, "{network}");
    }
}

#[tokio::test]
async fn a_connection_that_does_nothing_is_closed() {
    let settings = ServerSettings::default()
        .header_timeout(Duration::from_secs(2))
        .idle_timeout(Duration::from_secs(3));
    let server = Server::start(app().settings(settings)).await;
    // At the QUIC level its client keeps it alive.
    let quic = server.raw().await;
    let ended = soon(quic.closed()).await;
    assert_eq!(client::close_code(&ended), NO_ERROR);
}

#[tokio::test]
async fn a_silent_request_in_flight_outlasts_the_idle_timeout() {
    let (site, mut seen) = site();
    let settings = ServerSettings::default().idle_timeout(Duration::from_secs(1));
    let server = Server::start(app_with(&site).settings(settings)).await;
    // Its client sends no PING.
    let mut session = server.connect().await;
    let mut waiting = session.send(request("GET", "/wait")).await;
    soon(waiting.finish()).await.unwrap();
    assert_eq!(soon(seen.recv()).await, Some("begun"));
    // Two idle connections are closed meanwhile, one after the other.
    for _ in 0..2 {
        soon(server.raw().await.closed()).await;
    }
    site.gate.add_permits(1);
    assert_eq!(client::read(&mut waiting).await.unwrap().text(), "waited");
}

#[tokio::test]
async fn a_head_that_does_not_come_is_given_up() {
    let settings = ServerSettings::default().header_timeout(Duration::from_secs(1));
    let server = Server::start(app().settings(settings)).await;
    let quic = server.raw().await;
    let (mut send, mut receive) = quic.open_bi().await.unwrap();
    send.write_all(b"\x01").await.unwrap();
    let ended = soon(receive.read_to_end(1024)).await;
    assert!(matches!(ended, Err(quinn::ReadToEndError::Read(quinn::ReadError::Reset(_)))));
    assert!(quic.close_reason().is_none(), "the connection goes on");
}

#[tokio::test]
async fn one_request_is_all_if_the_settings_say_so() {
    let settings = ServerSettings::default().one_request_per_connection();
    let server = Server::start(app().settings(settings)).await;
    let mut session = server.connect().await;
    assert_eq!(session.response(request("GET", "/hello"), "").await.text(), "hello");
    assert!(soon(session.ended).await.unwrap().is_h3_no_error());
}

#[tokio::test]
async fn a_connection_ends_although_its_client_has_no_room_for_goaway() {
    let settings = ServerSettings::default().one_request_per_connection();
    let server = Server::start(app().settings(settings)).await;
    // The control stream begins with its type, and the type and the length of SETTINGS.
    let quic = server.raw().await;
    let mut control = soon(quic.accept_uni()).await.unwrap();
    let mut begin = [0; 3];
    soon(control.read_exact(&mut begin)).await.unwrap();
    assert!(begin[2] < 64, "a length in one byte");

    let mut transport = quinn::TransportConfig::default();
    transport.stream_receive_window((3 + u32::from(begin[2])).into());
    let quic = server.raw_with(transport).await;
    let (mut send, mut receive) = soon(quic.open_bi()).await.unwrap();
    soon(send.write_all(&client::head(&client::lines("GET", "/hello")))).await.unwrap();
    send.finish().unwrap();
    assert!(soon(receive.read_to_end(1024)).await.unwrap().ends_with(b"hello"));
    assert_eq!(client::close_code(&soon(quic.closed()).await), NO_ERROR);
}

#[tokio::test]
async fn a_stopping_server_finishes_open_requests() {
    let (site, mut seen) = site();
    let server = Server::start(app_with(&site)).await;
    let mut session = server.connect().await;
    let mut waiting = session.send(request("GET", "/wait")).await;
    soon(waiting.finish()).await.unwrap();
    assert_eq!(soon(seen.recv()).await, Some("begun"));
    let idle = server.connect().await;
    let raw = session.quic.clone();
    let client = server.client();
    let address = server.address();

    let stopped = server.stop();
    assert!(soon(idle.ended).await.unwrap().is_h3_no_error());
    // GOAWAY named the last request; a client may retry the others elsewhere.
    let rejected = client::exchange(&raw, &client::head(&client::lines("GET", "/hello"))).await;
    assert_eq!(rejected.unwrap_err(), REJECTED);
    let new = client.connect(address, "localhost").unwrap();
    assert!(
        tokio::time::timeout(Duration::from_millis(300), new)
            .await
            .map_or(true, |new| new.is_err())
    );

    assert!(!stopped.is_finished());
    site.gate.add_permits(1);
    assert_eq!(client::read(&mut waiting).await.unwrap().text(), "waited");
    drop((session.quic, waiting));
    soon(stopped).await.unwrap();
}

/// RFC 9114 5.2: a client that sends GOAWAY wants no pushes, but still wants its responses.
#[tokio::test]
async fn a_client_that_sends_goaway_gets_its_open_responses() {
    let (site, mut seen) = site();
    let server = Server::start(app_with(&site)).await;
    let quic = server.raw().await;
    let mut control = soon(quic.open_uni()).await.unwrap();
    soon(control.write_all(b"\x00\x04\x00")).await.unwrap();
    let mut responses = Vec::new();
    for path in ["/wait", "/wait/large"] {
        let (mut send, receive) = soon(quic.open_bi()).await.unwrap();
        soon(send.write_all(&client::head(&client::lines("GET", path)))).await.unwrap();
        send.finish().unwrap();
        assert_eq!(soon(seen.recv()).await, Some("begun"));
        responses.push(receive);
        // GOAWAY with the first push as the last. The server reads it before it accepts the second
        // request, which is sent behind it.
        if path == "/wait" {
            soon(control.write_all(b"\x07\x01\x00")).await.unwrap();
        }
    }
    assert_eq!(quic.close_reason(), None);
    let contents = [(&b"waited"[..], 0), (b"xxxxxx", LARGE)];
    for (mut receive, (end, length)) in responses.into_iter().zip(contents) {
        site.gate.add_permits(1);
        let response = soon(receive.read_to_end(2 * LARGE)).await.unwrap();
        assert!(response.ends_with(end) && response.len() >= length, "{} bytes", response.len());
    }
    assert_eq!(client::close_code(&soon(quic.closed()).await), NO_ERROR);
}

#[tokio::test]
async fn a_stopping_server_cuts_off_slow_requests() {
    let (site, mut seen) = site();
    let settings = ServerSettings::default().shutdown_timeout(Duration::from_millis(200));
    let server = Server::start(app_with(&site).settings(settings)).await;
    let mut session = server.connect().await;
    let mut waiting = session.send(request("GET", "/wait")).await;
    soon(waiting.finish()).await.unwrap();
    assert_eq!(soon(seen.recv()).await, Some("begun"));
    soon(server.stop()).await.unwrap();
    assert_eq!(soon(seen.recv()).await, Some("dropped"));
    assert_eq!(client::close_code(&soon(session.quic.closed()).await), NO_ERROR);
}

#[tokio::test]
async fn connections_are_counted_while_they_are_open_and_thereafter() {
    let metrics = Metrics::new();
    let server = Server::start(app().metrics(&metrics)).await;
    let of = |name: &str| {
        let sample = format!("{name}{{network_protocol_version=\"3\"}} ");
        let text = metrics.text();
        let value = text.lines().find_map(|line| line.strip_prefix(&sample)).expect("a sample");
        value.parse::<f64>().expect("a number")
    };
    let counted = || (of("policy_server_connections_total"), of("policy_server_connections_open"));
    let until = async |expected| {
        soon(async {
            while counted() != expected {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    };
    assert_eq!(counted(), (0.0, 0.0));
    let (mut first, mut second) = (server.connect().await, server.connect().await);
    for session in [&mut first, &mut second] {
        assert_eq!(session.response(request("GET", "/hello"), "").await.text(), "hello");
        assert_eq!(session.response(request("GET", "/hello"), "").await.text(), "hello");
    }
    until((2.0, 2.0)).await;
    let responses = "http_server_request_duration_seconds_count{http_request_method=\"GET\",\
                     http_response_status_code=\"200\",http_route=\"/hello\",\
                     network_protocol_version=\"3\",url_scheme=\"https\"} 4";
    soon(async {
        while !metrics.text().lines().any(|line| line == responses) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    first.quic.close(0_u32.into(), b"");
    until((2.0, 1.0)).await;
    drop(server.stop());
    until((2.0, 0.0)).await;
}
