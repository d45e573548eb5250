//! Upstreams over TLS and HTTP/2, and HTTP/2 clients.

use std::{convert::Infallible, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, Version};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::BoxBody};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use policy_server::{Limits, Policies, ReverseProxy};
use policy_tests::{
    folder::Folder,
    frames::{PING, SETTINGS, frame},
    http2,
    tls::identity,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};

use super::{
    Running, Upstream,
    http::{StoppedTime, request as plain, soon},
    send, start,
};

/// A certificate for these names, with its authority in a file.
struct Certificate {
    config: ServerConfig,
    pem: PathBuf,
    _folder: Folder,
}

impl Certificate {
    fn new(names: &[&str]) -> Self {
        let (mut config, authority) = identity(names).expect("a certificate");
        config.alpn_protocols.clear();
        let folder = Folder::new().expect("a folder");
        let pem = folder.path().join("authority.pem");
        std::fs::write(&pem, authority.pem()).expect("a file");
        Self { config, pem, _folder: folder }
    }
}

/// A request that an upstream by hyper received.
#[derive(Debug)]
struct Got {
    version: Version,
    uri: String,
    headers: HeaderMap,
    body: Bytes,
    trailers: Option<HeaderMap>,
}

/// Responds with the request's content and a trailer.
async fn echo(
    request: Request<Incoming>,
    tell: mpsc::UnboundedSender<Got>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.expect("a whole body");
    let trailers = body.trailers().cloned();
    let body = body.to_bytes();
    let got = Got {
        version: parts.version,
        uri: parts.uri.to_string(),
        headers: parts.headers,
        body: body.clone(),
        trailers,
    };
    tell.send(got).expect("a test that listens");
    let trailers =
        HeaderMap::from_iter([("x-sum".parse().expect("a name"), "1".parse().expect("a value"))]);
    let frames = [Frame::data(body), Frame::trailers(trailers)].map(Ok::<_, Infallible>);
    let body = StreamBody::new(futures_util::stream::iter(frames));
    let response = Response::builder().header("trailer", "x-sum").body(body.boxed());
    Ok(response.expect("a response"))
}

/// Starts an upstream, with TLS if configured, which speaks HTTP/2 if the client begins with its
/// preface or ALPN selects it.
async fn upstream(
    tls: Option<ServerConfig>,
    is_http2: bool,
) -> (SocketAddr, mpsc::UnboundedReceiver<Got>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (tell, got) = mpsc::unbounded_channel();
    let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            let (tell, acceptor) = (tell.clone(), acceptor.clone());
            tokio::spawn(async move {
                let service = service_fn(move |request| echo(request, tell.clone()));
                match acceptor {
                    None => serve(stream, is_http2, service).await,
                    Some(acceptor) => {
                        let Ok(stream) = acceptor.accept(stream).await else { return };
                        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                        serve(stream, is_http2, service).await;
                    }
                }
            });
        }
    });
    (address, got)
}

async fn serve<S>(
    stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    is_http2: bool,
    service: S,
) where
    S: hyper::service::Service<
            Request<Incoming>,
            Response = Response<BoxBody<Bytes, Infallible>>,
            Error = Infallible,
        > + Send
        + 'static,
    S::Future: Send + 'static,
{
    let io = TokioIo::new(stream);
    // The proxy closes the connection at the end of the test.
    if is_http2 {
        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(io, service)
            .await;
    } else {
        let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
    }
}

const POST: &str = "POST /api/x?y HTTP/1.1\r\nhost: localhost\r\nte: trailers\r\nconnection: te\r\n\
                    trailer: x-sum\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nx-sum: 2\r\n\r\n";

async fn assert_echo(
    server: &Running,
    got: &mut mpsc::UnboundedReceiver<Got>,
    version: Version,
) -> Got {
    let mut connection = server.connect().await;
    connection.send(POST).await;
    let response = connection.head().await;
    assert_eq!(response.status, 200, "{response:?}");
    let rest = connection.exactly(b"5\r\nhello\r\n0\r\nx-sum: 1\r\n\r\n".len()).await;
    assert_eq!(rest.escape_ascii().to_string(), "5\\r\\nhello\\r\\n0\\r\\nx-sum: 1\\r\\n\\r\\n");
    let got = soon(got.recv()).await.expect("a request");
    assert_eq!((got.version, &got.body[..]), (version, &b"hello"[..]));
    assert_eq!(got.trailers.as_ref().expect("trailers")["x-sum"], "2");
    assert_eq!(got.headers["x-forwarded-for"], "127.0.0.1");
    got
}

#[tokio::test]
async fn http2_is_spoken_without_asking_where_the_app_says_so() {
    let (address, mut got) = upstream(None, true).await;
    let proxy =
        ReverseProxy::new("/api", format!("http://{address}/v1")).public().strip_prefix().http2();
    let server = start(proxy).await;
    for _ in 0..2 {
        let got = assert_echo(&server, &mut got, Version::HTTP_2).await;
        assert_eq!(got.uri, format!("http://{address}/v1/x?y"));
        assert_eq!(got.headers["te"], "trailers");
        assert!(!got.headers.contains_key("connection") && !got.headers.contains_key("host"));
    }
}

#[tokio::test]
async fn over_tls_the_upstream_chooses_the_version() {
    for (protocols, version) in [
        (&[&b"h2"[..], b"http/1.1"][..], Version::HTTP_2),
        (&[b"http/1.1"], Version::HTTP_11),
        (&[], Version::HTTP_11),
    ] {
        let mut certificate = Certificate::new(&["localhost"]);
        certificate.config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let (address, mut got) = upstream(Some(certificate.config.clone()), false).await;
        let origin = format!("https://localhost:{}", address.port());
        let proxy = ReverseProxy::new("/api", &origin).public().root_certificates(&certificate.pem);
        let server = start(proxy).await;
        let got = assert_echo(&server, &mut got, version).await;
        if version == Version::HTTP_2 {
            assert_eq!(got.uri, format!("{origin}/api/x?y"));
        } else {
            assert_eq!(got.headers["host"], format!("localhost:{}", address.port()));
        }
    }
}

#[tokio::test]
async fn an_upstream_with_another_certificate_is_502() {
    let certificate = Certificate::new(&["other.example"]);
    let trusted = Certificate::new(&["localhost"]);
    let (address, mut got) = upstream(Some(certificate.config.clone()), false).await;
    let origin = format!("https://localhost:{}", address.port());
    for proxy in [
        // A certificate for another name, another authority, and an unknown authority.
        ReverseProxy::new("/api", &origin).public().root_certificates(&certificate.pem),
        ReverseProxy::new("/api", &origin).public().root_certificates(&trusted.pem),
        ReverseProxy::new("/api", &origin).public(),
    ] {
        let response = start(proxy).await.response(plain("GET /api", &[])).await;
        assert_eq!(response.problem(), (502, "proxy.unreachable".to_owned()));
    }
    assert!(got.try_recv().is_err());
}

#[tokio::test]
async fn an_upstream_without_http2_is_502_where_nothing_else_will_do() {
    let certificate = Certificate::new(&["localhost"]);
    let (address, _got) = upstream(Some(certificate.config.clone()), false).await;
    let origin = format!("https://localhost:{}", address.port());
    let proxy =
        ReverseProxy::new("/api", origin).public().root_certificates(&certificate.pem).http2();
    let response = start(proxy).await.response(plain("GET /api", &[])).await;
    assert_eq!(response.problem(), (502, "proxy.unreachable".to_owned()));
}

/// Begins a request over HTTP/2.
fn get(client: &mut http2::Client) -> h2::client::ResponseFuture {
    let request = http2::request("GET", "http://localhost/api", &[]);
    client.send_request(request, true).expect("a stream").0
}

#[tokio::test]
async fn a_client_of_http2_reaches_an_upstream_of_http1() {
    let upstream = Upstream::start().await;
    let server = start(ReverseProxy::new("/api", upstream.origin()).public().strip_prefix()).await;
    let (mut client, _ended) = http2::connect(&server).await;
    let cookies = [("cookie", "a=1"), ("cookie", "b=2")];
    let sent = http2::request("GET", "http://localhost/api/x", &cookies);
    let serve = async {
        let (mut line, got) = upstream.accept_request().await;
        assert_eq!(got.line, "GET /x HTTP/1.1");
        assert_eq!(got.header("cookie"), Some("a=1; b=2"));
        assert_eq!(got.header("via"), Some("2 policy"));
        assert_eq!(got.header("x-forwarded-host"), Some("localhost"));
        line.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nkeep-alive: timeout=5\r\n\r\n2\r\nok\r\n0\r\n\r\n").await;
    };
    let (response, ()) = tokio::join!(http2::send(&mut client, sent, ""), serve);
    assert_eq!(response.header("transfer-encoding"), None);
    assert_eq!(response.text(), "ok");
}

/// RFC 9113 8.1.1: a response is malformed if its `Content-Length` differs from the length of its
/// content.
#[tokio::test]
async fn a_client_of_http2_gets_no_length_that_is_wrong() {
    let upstream = Upstream::start().await;
    let server = start(ReverseProxy::new("/api", upstream.origin()).public()).await;
    let (mut client, _ended) = http2::connect(&server).await;
    for (response, status, body) in [
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n\
             a\r\n0123456789\r\n0\r\n\r\n",
            200,
            "0123456789",
        ),
        ("HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n", 204, ""),
        ("HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", 304, ""),
    ] {
        let serve = async {
            let (mut line, _) = upstream.accept_request().await;
            line.send(response).await;
        };
        let sent = http2::request("GET", "http://localhost/api", &[]);
        let (response, ()) = tokio::join!(http2::send(&mut client, sent, ""), serve);
        assert_eq!((response.status, response.text()), (status, body));
        assert_eq!(response.header("content-length"), None);
    }
}

/// RFC 9110 6.5.1: a recipient may merge trailers into the headers.
#[tokio::test]
async fn trailers_that_are_about_the_whole_message_go_no_further() {
    let upstream = Upstream::start().await;
    let server = start(ReverseProxy::new("/api", upstream.origin()).public()).await;
    let (mut client, _ended) = http2::connect(&server).await;
    let response = get(&mut client);
    let (mut line, _) = upstream.accept_request().await;
    line.send(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\
         cache-control: public\r\nlocation: /x\r\ncontent-type: text/html\r\nx-sum: 1\r\n\r\n",
    )
    .await;
    let mut body = soon(response).await.expect("a response").into_body();
    while let Some(data) = soon(body.data()).await {
        data.expect("data");
    }
    let trailers = soon(body.trailers()).await.expect("a whole body").expect("trailers");
    let names: Vec<_> = trailers.keys().cloned().collect();
    assert_eq!(names, ["x-sum"]);
}

/// RFC 9113 8.1: a response that breaks off is reset.
#[tokio::test]
async fn broken_responses_are_reset_and_cancelled_requests_end_at_the_upstream() {
    let upstream = Upstream::start().await;
    let server = start(ReverseProxy::new("/api", upstream.origin()).public()).await;
    let (mut client, _ended) = http2::connect(&server).await;
    let response = get(&mut client);
    let (mut line, _) = upstream.accept_request().await;
    line.send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab").await;
    let mut body = soon(response).await.expect("a response").into_body();
    assert_eq!(soon(body.data()).await.expect("more").expect("data"), "ab");
    drop(line);
    assert!(soon(body.data()).await.expect("an end").is_err());

    // Cancelled before the response, and during its body.
    let waiting = get(&mut client);
    let (mut line, _) = upstream.accept_request().await;
    drop(waiting);
    assert_eq!(line.rest().await, b"");
    let response = get(&mut client);
    let (mut line, _) = upstream.accept_request().await;
    line.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n").await;
    drop(soon(response).await.expect("a response").into_body());
    assert_eq!(line.rest().await, b"");
}

/// A stream that its client cancels is cancelled at an HTTP/2 upstream, and other streams go on.
#[tokio::test]
async fn a_cancelled_request_is_reset_at_an_upstream_of_http2() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (tell, mut reset) = mpsc::unbounded_channel();
    let (begun, mut first) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut connection = h2::server::handshake(stream).await.expect("a handshake");
        let mut is_first = true;
        while let Some(Ok((_request, mut respond))) = connection.accept().await {
            if !std::mem::take(&mut is_first) {
                respond.send_response(Response::new(()), true).expect("a stream");
                continue;
            }
            let mut stream = respond.send_response(Response::new(()), false).expect("a stream");
            stream.send_data(Bytes::from_static(b"x"), false).expect("a stream");
            begun.send(()).expect("a test that waits");
            let tell = tell.clone();
            tokio::spawn(async move {
                let reason = std::future::poll_fn(|context| stream.poll_reset(context)).await;
                tell.send(reason.expect("a reset")).expect("a test that waits");
            });
        }
    });
    let proxy = ReverseProxy::new("/api", format!("http://{address}"))
        .public()
        .http2()
        .answer_timeout(Duration::from_secs(5));
    let server = start(proxy).await;
    let mut connection = server.connect().await;
    connection.send(plain("GET /api", &[])).await;
    soon(first.recv()).await.expect("a request");
    assert_eq!(connection.head().await.status, 200);
    drop(connection);
    assert_eq!(soon(reset.recv()).await.expect("a reset"), h2::Reason::CANCEL);
    assert_eq!(server.response(plain("GET /api", &[])).await.status, 200);
}

/// An upstream that hangs gets a PING, and its connection is closed before a response is due.
#[tokio::test]
async fn an_upstream_of_http2_that_answers_no_ping_is_502() {
    let time = StoppedTime::begin();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (tell, mut received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            stream.write_all(&frame(SETTINGS, 0, 0, &[])).await.expect("a proxy");
            let mut bytes = Vec::new();
            // Waits until the proxy closes the connection in any way.
            let _reset = stream.read_to_end(&mut bytes).await;
            tell.send(bytes).expect("a test that waits");
        }
    });
    let long = Duration::from_secs(600);
    let proxy = ReverseProxy::new("/api", format!("http://{address}")).public().http2();
    let proxy =
        proxy.answer_timeout(long).policies(Policies::new().limits(Limits::NONE.timeout(long)));
    let server = start(proxy).await;
    let mut connection = server.connect().await;
    // The request is not repeated.
    connection.send(plain("POST /api", &["content-length: 0"])).await;
    time.pass(Duration::from_secs(15)).await;
    let response = time.until(connection.response()).await;
    assert_eq!((response.status, response.problem().1), (502, "proxy.bad-answer".to_owned()));
    let received = soon(received.recv()).await.expect("a connection");
    assert!(received.windows(5).any(|head| head == [0, 0, 8, PING, 0]), "{received:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_stops_one_stream_of_an_http2_upstream() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (tell, mut sizes) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut connection = h2::server::handshake(stream).await.expect("a handshake");
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            if request.uri().path() == "/api/small" {
                respond.send_response(Response::new(()), true).expect("a stream");
                continue;
            }
            let mut stream = respond.send_response(Response::new(()), false).expect("a stream");
            let tell = tell.clone();
            tokio::spawn(async move {
                let mut sent = 0_usize;
                loop {
                    stream.reserve_capacity(16 * 1024);
                    let more = std::future::poll_fn(|context| stream.poll_capacity(context));
                    let Some(Ok(room)) = more.await else { return };
                    sent += room;
                    if stream.send_data(Bytes::from(vec![b'x'; room]), false).is_err() {
                        return;
                    }
                    if tell.send(sent).is_err() {
                        return;
                    }
                }
            });
        }
    });
    let server =
        start(ReverseProxy::new("/api", format!("http://{address}")).public().http2()).await;
    let mut slow = server.connect().await;
    slow.send(plain("GET /api/large", &[])).await;
    slow.head().await;
    // Reads until nothing was sent for a while.
    let mut sent = 0;
    while let Ok(Some(more)) = tokio::time::timeout(Duration::from_millis(300), sizes.recv()).await
    {
        sent = more;
        assert!(sent < 8 << 20, "nobody stops it");
    }
    println!("{sent} bytes ahead of a client that takes nothing");
    // The connection serves other requests.
    assert_eq!(server.response(plain("GET /api/small", &[])).await.status, 200);
    assert!(slow.exactly(4 << 20).await.ends_with(b"x"));
}

/// RFC 9113 5.1.2: more streams than the upstream allows would wait until others end.
#[tokio::test]
async fn a_full_connection_of_http2_is_not_the_only_one() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            tokio::spawn(async move {
                let mut settings = h2::server::Builder::new();
                settings.max_concurrent_streams(1);
                let mut connection = settings.handshake(stream).await.expect("a handshake");
                let mut endless: Vec<h2::SendStream<Bytes>> = Vec::new();
                while let Some(Ok((_request, mut respond))) = connection.accept().await {
                    let stream = respond.send_response(Response::new(()), false);
                    endless.push(stream.expect("a stream"));
                }
            });
        }
    });
    let server =
        start(ReverseProxy::new("/api", format!("http://{address}")).public().http2()).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut connection = server.connect().await;
        connection.send(plain("GET /api", &[])).await;
        assert_eq!(connection.head().await.status, 200);
        open.push(connection);
    }
}

#[tokio::test]
async fn websockets_have_http1_beside_an_upstream_of_http2() {
    let upstream = Upstream::start().await;
    let server = start(ReverseProxy::new("/api", upstream.origin()).public().http2()).await;
    let fields = [
        "upgrade: websocket",
        "connection: upgrade",
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    let handshake = plain("GET /api/live", &fields);
    let (mut connection, mut line, got) = send(&server, &upstream, handshake).await;
    assert_eq!(got.line, "GET /api/live HTTP/1.1");
    line.send(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
    )
    .await;
    assert_eq!(connection.head().await.status, 101);
}
