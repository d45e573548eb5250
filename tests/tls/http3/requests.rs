//! Requests and responses, as over every other version.

use std::time::SystemTime;

use policy_server::Tunnel;

use super::*;
use client::{exchange, head};

#[tokio::test]
async fn responses_equal_those_of_http1() {
    let named = ServerSettings::default().server_header("shop".parse().unwrap());
    let server = Server::start(app().settings(named)).await;
    let mut session = server.connect().await;
    let mut get = request("GET", "/hello");
    get.headers_mut().insert("origin", "https://shop.example".parse().unwrap());
    let response = session.response(get, "").await;
    assert_eq!((response.status, response.text()), (200, "hello"));
    assert_eq!(response.header("content-length"), Some("5"));
    assert_eq!(response.header("server"), Some("shop"));
    assert_eq!(response.header("access-control-allow-origin"), Some("https://shop.example"));
    assert_eq!(response.header("strict-transport-security"), None, "the development profile");
    let date = httpdate::parse_http_date(response.header("date").unwrap()).unwrap();
    let age = SystemTime::now().duration_since(date).unwrap_or_default();
    assert!(age < Duration::from_secs(60), "{age:?}");

    let foreign = http::Request::get("https://evil.example/hello").body(()).unwrap();
    assert_eq!(session.response(foreign, "").await.status, 421);
    let not_final = session.response(request("GET", "/status/103"), "").await;
    assert_eq!(not_final.problem(), (500, "handler.failed".to_owned()));
}

#[tokio::test]
async fn heads_may_be_without_limit() {
    let settings = ServerSettings::default().header_limit(usize::MAX);
    let server = Server::start(app().settings(settings)).await;
    let response = server.response("GET", "/hello").await;
    assert_eq!((response.status, response.text()), (200, "hello"));
}

/// A tunnel would replace the connection, which a QUIC stream cannot do here.
#[tokio::test]
async fn tunnels_are_not_opened() {
    let target = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = target.local_addr().unwrap().to_string();
    let tunnel = Tunnel::to([&authority]).public().private(["127.0.0.0/8"]);
    let server = Server::start(app().tunnel(tunnel)).await;
    let quic = server.raw().await;
    let connect = head(&[(":method", "CONNECT"), (":authority", &authority)]);
    let response = exchange(&quic, &connect).await.unwrap();
    let text = String::from_utf8_lossy(&response);
    assert!(text.contains(r#""status":501,"code":"route.protocol-unknown""#), "{text}");
    let connected = tokio::time::timeout(Duration::from_millis(100), target.accept()).await;
    assert!(connected.is_err(), "nobody was connected");
}

#[tokio::test]
async fn bodies_go_both_ways() {
    let server = Server::start(app()).await;
    let mut session = server.connect().await;
    let body: Vec<u8> =
        (0..1 << 20).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for length in [0, 1, 65_536, 1 << 20] {
        let response = session.response(request("POST", "/echo"), body[..length].to_vec()).await;
        assert_eq!(response.status, 200);
        assert!(response.body == body[..length], "{length}");
    }
    let too_large = session.response(request("POST", "/echo"), vec![0; 5 << 20]).await;
    assert_eq!(too_large.problem(), (413, "request.body-too-large".to_owned()));
}

#[tokio::test]
async fn trailers_go_both_ways() {
    let server = Server::start(app()).await;
    let mut session = server.connect().await;
    let trailers = http::HeaderMap::from_iter([("x-sum".parse().unwrap(), "42".parse().unwrap())]);
    for body in ["", "content"] {
        let mut stream = session.send(request("POST", "/trailers")).await;
        if !body.is_empty() {
            soon(stream.send_data(Bytes::from(body))).await.unwrap();
        }
        soon(stream.send_trailers(trailers.clone())).await.unwrap();
        soon(stream.finish()).await.unwrap();
        let (response, found) = client::read_with_trailers(&mut stream).await.unwrap();
        assert_eq!((response.text(), found.as_ref()), (body, Some(&trailers)));
    }
}

/// An independent decoder reads the Huffman code of each byte.
#[tokio::test]
async fn values_go_both_ways_byte_by_byte() {
    let server = Server::start(app()).await;
    let mut session = server.connect().await;
    for bytes in [0x21..=0x7e, 0x80..=0xff_u8] {
        let value = http::HeaderValue::from_bytes(&bytes.collect::<Vec<_>>()).unwrap();
        let trailers = http::HeaderMap::from_iter([("x-sum".parse().unwrap(), value)]);
        let mut stream = session.send(request("POST", "/trailers")).await;
        soon(stream.send_trailers(trailers.clone())).await.unwrap();
        soon(stream.finish()).await.unwrap();
        let (_, found) = client::read_with_trailers(&mut stream).await.unwrap();
        assert_eq!(found.as_ref(), Some(&trailers));
    }
}

/// RFC 9114 4.2.2.
#[tokio::test]
async fn a_client_gets_no_field_section_above_its_limit() {
    let server = Server::start(app()).await;
    for (limit, is_sent) in [(10_000, true), (64, false)] {
        let transport = h3_quinn::Connection::new(server.raw().await);
        let mut builder = h3::client::builder();
        builder.max_field_section_size(limit);
        let built = soon(builder.build::<_, _, Bytes>(transport)).await;
        let (_driver, mut requests) = built.unwrap();
        let mut stream = soon(requests.send_request(request("GET", "/hello"))).await.unwrap();
        soon(stream.finish()).await.unwrap();
        let response = soon(stream.recv_response()).await;
        // The library of the client has an error of its own for one that arrives.
        let is_reset = matches!(
            response,
            Err(h3::error::StreamError::RemoteTerminate { code, .. })
                if code == h3::error::Code::H3_REQUEST_CANCELLED
        );
        assert_eq!((response.is_ok(), is_reset), (is_sent, !is_sent), "{limit}: {response:?}");
    }
}

#[tokio::test]
async fn fields_of_a_connection_are_not_sent() {
    let server = Server::start(app()).await;
    let response = server.response("GET", "/fields").await;
    let mut names: Vec<_> = response.headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names, ["date", "vary", "x-content-type-options", "x-kept"]);
}

#[tokio::test]
async fn a_response_that_breaks_off_does_not_look_complete() {
    let server = Server::start(app()).await;
    let mut session = server.connect().await;
    let broken = session.try_response(request("GET", "/broken"), "").await;
    assert!(broken.is_err(), "{broken:?}");
    assert_eq!(session.response(request("GET", "/hello"), "").await.text(), "hello");
}

#[tokio::test]
async fn many_requests_go_at_a_time() {
    let (site, mut seen) = site();
    let server = Server::start(app_with(&site)).await;
    let mut session = server.connect().await;
    let mut streams = Vec::new();
    for _ in 0..100 {
        let mut stream = session.send(request("GET", "/wait")).await;
        soon(stream.finish()).await.unwrap();
        streams.push(stream);
    }
    for _ in 0..100 {
        assert_eq!(soon(seen.recv()).await, Some("begun"));
    }
    // The hundred and first stream waits for another one to end.
    assert!(tokio::time::timeout(Duration::from_millis(50), session.quic.open_bi()).await.is_err());
    site.gate.add_permits(100);
    for stream in &mut streams {
        assert_eq!(client::read(stream).await.unwrap().text(), "waited");
    }
}
