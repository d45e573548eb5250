//! Behind proxies that speak the PROXY protocol.

use super::*;

const V1: &[u8] = b"PROXY TCP4 192.0.2.1 198.51.100.1 4711 443\r\n";
const UNKNOWN: &[u8] = b"PROXY UNKNOWN\r\n";
const LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
/// 192.0.2.1:4711 to 198.51.100.1:443, followed by TLVs with the name in the certificate.
const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x12\xc0\0\x02\x01\xc6\x33\x64\x01\x12\x67\x01\xbb\x02\0\x03abc";

async fn start() -> Running {
    Running::start(app().behind(TrustedProxies::new(PROXIES).proxy_protocol())).await
}

#[tokio::test]
async fn the_proxy_protocol_states_the_client_before_its_first_byte() {
    let server = start().await;
    let get = request("GET /client", &[]);
    for (header, client) in [(V1, "192.0.2.1"), (V2, "192.0.2.1"), (LOCAL, "127.0.0.1")] {
        let mut connection = server.connect().await;
        // The bytes after the header are HTTP, also in the same packet and pipelined.
        connection.send([header, get.as_bytes(), get.as_bytes()].concat()).await;
        for _ in 0..2 {
            let response = connection.response().await;
            assert_eq!(response.text(), format!("{client} over 127.0.0.1, "));
        }
        let mut connection = server.connect().await;
        for byte in header {
            connection.send([*byte]).await;
            tokio::task::yield_now().await;
        }
        connection.send(&get).await;
        assert_eq!(connection.response().await.text(), format!("{client} over 127.0.0.1, "));
    }
}

/// Such clients share one rate, which is not that of the proxy's own requests (LOCAL).
#[tokio::test]
async fn a_client_that_its_proxy_does_not_know_has_no_address() {
    let server = start().await;
    let once = request("GET /once", &[]);
    for (header, status) in [(UNKNOWN, 200), (UNKNOWN, 429), (LOCAL, 200)] {
        let mut connection = server.connect().await;
        connection.send([header, once.as_bytes()].concat()).await;
        assert_eq!(connection.response().await.status, status);
    }
}

#[tokio::test]
async fn proxies_speak_http2_behind_the_header_as_well() {
    let server = start().await;
    let mut stream = soon(TcpStream::connect(server.address)).await.expect("a server");
    soon(tokio::io::AsyncWriteExt::write_all(&mut stream, V2)).await.expect("a server");
    let (mut client, connection) = soon(h2::client::handshake(stream)).await.expect("HTTP/2");
    tokio::spawn(connection);
    let get =
        ::http::Request::builder().uri("http://localhost/client").body(()).expect("a request");
    let (response, _) = client.send_request(get, true).expect("a request");
    let mut body = soon(response).await.expect("a response").into_body();
    let text = soon(body.data()).await.expect("a body").expect("a body");
    assert_eq!(text, "192.0.2.1 over 127.0.0.1, ");
}

#[tokio::test]
async fn connections_of_proxies_without_the_header_are_closed() {
    let server = start().await;
    let get = request("GET /client", &[]);
    for bytes in [
        get.as_bytes(),
        b"PROXY TCP4 192.0.2.1 198.51.100.1 4711\r\n",
        b"PROXY TCP9 1 2 3 4\r\n",
        &[b'x'; 200],
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
    ] {
        let mut connection = server.connect().await;
        connection.send(bytes).await;
        connection.wait_for_close().await;
    }
    // A header that is not complete in time, and none at all.
    let time = StoppedTime::begin();
    for bytes in [&V1[..20], &V2[..14], b""] {
        let mut connection = server.connect().await;
        connection.send(bytes).await;
        time.until(connection.wait_for_close()).await;
    }
}

#[tokio::test]
async fn only_headers_of_trusted_proxies_are_read() {
    let server = start().await;
    let get = request("GET /client", &["x-forwarded-for: 192.0.2.9"]);
    let mut connection = Connection::open_from(STRANGER, server.address).await;
    connection.send([V1, get.as_bytes()].concat()).await;
    assert_eq!(connection.head().await.status, 400);
    let response = ask_from(STRANGER, &server, &request("GET /client", &[])).await;
    assert_eq!(response.text(), "127.0.0.2 over 127.0.0.2, ");
    // Such proxies pass on the host that their client wrote, which development does not check.
    let mut connection = server.connect().await;
    connection.send([V1, get.as_bytes()].concat()).await;
    assert_eq!(connection.response().await.problem().1, "origin.forwarded-in-development");
}
