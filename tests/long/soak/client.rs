//! A well-behaved client: it keeps its connection, and if that ends without a response, repeats
//! requests that may be repeated (RFC 9110 9.2.2).

use futures_util::future::Either;
use http_body_util::{BodyExt, Full};
use hyper::{
    Response,
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use policy_tests::authority::trusting;
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    rustls::{ALL_VERSIONS, pki_types::CertificateDer},
};

use super::*;

type Body = Full<Bytes>;

pub(crate) struct Client {
    address: SocketAddr,
    tls: TlsConnector,
    is_http2: bool,
    sender: Option<Sender>,
}

enum Sender {
    Http1(http1::SendRequest<Body>),
    Http2(http2::SendRequest<Body>),
}

impl Sender {
    /// Whether the connection still takes requests.
    async fn is_ready(&mut self) -> bool {
        match self {
            Self::Http1(sender) => sender.ready().await.is_ok(),
            Self::Http2(sender) => sender.ready().await.is_ok(),
        }
    }

    /// Sends a request, and returns the sender unless the connection has ended. hyper may keep a
    /// request that is sent as its connection ends until the sender is dropped
    /// (`docs/upstream/hyper-lost-request.md`). A missing response is an error, whatever the
    /// reason.
    fn send(
        self,
        request: ::http::Request<Body>,
    ) -> (impl Future<Output = hyper::Result<Response<Incoming>>>, Option<Self>) {
        match self {
            Self::Http1(mut sender) => {
                let response = sender.send_request(request);
                let is_open = !sender.is_closed();
                (Either::Left(response), is_open.then_some(Self::Http1(sender)))
            }
            Self::Http2(mut sender) => {
                let response = sender.send_request(request);
                let is_open = !sender.is_closed();
                (Either::Right(response), is_open.then_some(Self::Http2(sender)))
            }
        }
    }
}

impl Client {
    pub(crate) fn new(
        address: SocketAddr,
        authority: CertificateDer<'static>,
        is_http2: bool,
    ) -> Self {
        let protocol = if is_http2 { "h2" } else { "http/1.1" };
        let config = trusting(authority, ALL_VERSIONS, &[protocol]);
        Self { address, tls: TlsConnector::from(Arc::new(config)), is_http2, sender: None }
    }

    pub(crate) async fn ask_until_over(mut self, tally: Arc<Tally>) {
        let mut number = 0;
        while !tally.is_over.load(Relaxed) {
            number += 1;
            match number % 8 {
                0 => self.ask("POST", "/echo", "echoed", &tally).await,
                1 => self.ask("GET", "/waits", "waited", &tally).await,
                2 | 6 => self.ask("GET", "/api/hello", upstream::RESPONSE, &tally).await,
                _ => self.ask("GET", "/hello", "hello", &tally).await,
            }
            if number % 500 == 0 {
                // Clients do not keep a connection for ever.
                self.sender = None;
            }
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// Sends requests until there is a response, which must be right to its last byte.
    async fn ask(&mut self, method: &str, path: &str, expected: &str, tally: &Tally) {
        let ended = loop {
            let mut sender = match self.sender.take() {
                Some(sender) => sender,
                None => {
                    tally.connections.fetch_add(1, Relaxed);
                    connect(self.address, &self.tls, self.is_http2).await
                }
            };
            if !soon(sender.is_ready()).await {
                continue;
            }
            let body = if method == "POST" { expected } else { "" };
            let authority = if self.is_http2 { "https://localhost" } else { "" };
            let request = ::http::Request::builder()
                .method(method)
                .uri(format!("{authority}{path}"))
                .header("host", "localhost")
                .body(Full::from(body.to_owned()))
                .expect("a request");
            let changes = tally.upstream_changes();
            let (response, sender) = sender.send(request);
            self.sender = sender;
            match soon(response).await {
                // There is no response from an upstream that is down.
                Ok(response)
                    if response.status() == 502
                        && path.starts_with("/api/")
                        && !tally.had_upstream_since(changes) =>
                {
                    soon(response.into_body().collect()).await.expect("a whole problem");
                    break &tally.without_upstream;
                }
                Ok(response) => {
                    assert_eq!(response.status(), 200, "{method} {path}");
                    let body = soon(response.into_body().collect()).await;
                    let body = body.expect("a response that does not break off").to_bytes();
                    assert_eq!(body, expected, "{method} {path}");
                    break &tally.answered;
                }
                Err(_) => {
                    self.sender = None;
                    if method == "POST" {
                        break &tally.unknown;
                    }
                    tally.repeated.fetch_add(1, Relaxed);
                }
            }
        };
        ended.fetch_add(1, Relaxed);
    }
}

/// Connects. Some process always listens, and nothing was requested before there is a connection.
async fn connect(address: SocketAddr, tls: &TlsConnector, is_http2: bool) -> Sender {
    loop {
        let stream = soon(TcpStream::connect(address)).await.expect("somebody listens");
        stream.set_nodelay(true).expect("a socket");
        let name = "localhost".try_into().expect("a name");
        // A process that stops closes connections without a request.
        let Ok(stream) = soon(tls.connect(name, stream)).await else { continue };
        let stream = TokioIo::new(stream);
        if is_http2 {
            let Ok((sender, connection)) =
                soon(http2::handshake(TokioExecutor::new(), stream)).await
            else {
                continue;
            };
            tokio::spawn(connection);
            return Sender::Http2(sender);
        }
        let Ok((sender, connection)) = soon(http1::handshake(stream)).await else { continue };
        tokio::spawn(connection);
        return Sender::Http1(sender);
    }
}
