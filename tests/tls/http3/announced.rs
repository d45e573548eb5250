//! Which clients learn of HTTP/3.

use http_body_util::Empty;
use hyper_util::rt::{TokioExecutor, TokioIo};
use policy_server::Tls;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};

use super::*;
use sockets::Running;

/// `Alt-Svc` of a response over TLS, in the version that ALPN chooses.
async fn announced(server: &Server, alpn: &[u8], path: &str) -> Option<String> {
    let mut config = server.trust();
    config.alpn_protocols = vec![alpn.to_vec()];
    let stream = soon(TcpStream::connect(server.address())).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = soon(TlsConnector::from(Arc::new(config)).connect(name, stream)).await.unwrap();
    let io = TokioIo::new(stream);
    let get = http::Request::get(format!("https://localhost{path}")).header("host", "localhost");
    let get = get.body(Empty::<Bytes>::new()).unwrap();
    let response = if alpn == b"h2" {
        let (mut send, driver) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
        tokio::spawn(driver);
        soon(send.send_request(get)).await.unwrap()
    } else {
        let (mut send, driver) = hyper::client::conn::http1::handshake(io).await.unwrap();
        tokio::spawn(driver);
        soon(send.send_request(get)).await.unwrap()
    };
    response.headers().get("alt-svc").map(|value| value.to_str().unwrap().to_owned())
}

#[tokio::test]
async fn http3_is_announced_to_clients_over_tls() {
    let server = Server::start(app()).await;
    let want = format!("h3=\":{}\"; ma=86400", server.address().port());
    for alpn in [&b"h2"[..], b"http/1.1"] {
        for path in ["/hello", "/nowhere", "/panic"] {
            let found = announced(&server, alpn, path).await;
            assert_eq!(found.as_ref(), Some(&want), "{} {path}", alpn.escape_ascii());
        }
    }
    assert_eq!(server.response("GET", "/hello").await.header("alt-svc"), None, "here already");
}

/// The public port may differ from that of the server.
#[tokio::test]
async fn the_announced_port_comes_from_the_public_origin() {
    for (origin, port) in [("https://shop.example", 443), ("https://shop.example:8443", 8443)] {
        let server = Server::start(app().public_origin(origin)).await;
        let want = format!("h3=\":{port}\"; ma=86400");
        assert_eq!(announced(&server, b"h2", "/hello").await, Some(want));
    }
}

#[tokio::test]
async fn http3_is_announced_only_if_it_is_served_and_over_tls() {
    let plain = Running::start(app()).await;
    let response = plain.response(sockets::request("GET /hello", &[])).await;
    assert_eq!(response.header("alt-svc"), None);
    let server = Server::start_with(app(), |tls| tls).await;
    assert_eq!(announced(&server, b"h2", "/hello").await, None);
    let redirecting: fn(Tls) -> Tls = |tls| tls.http3().redirect_http("127.0.0.1:0");
    let server = Server::start_with(app(), redirecting).await;
    assert!(announced(&server, b"h2", "/hello").await.is_some());
}
