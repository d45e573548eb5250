//! A client for each version, by independent libraries.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use bytes::{Buf, Bytes};
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use policy_server::{
    Body,
    http::{HeaderMap, HeaderValue, Request, Response},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, rustls};

use crate::{
    http3::client::{Session, endpoint},
    protocols::{Case, HOST, Payload, TestResponse},
};

/// The longest that a response may take, generous for a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) trait Client {
    /// Sends a request and reads its response to the end.
    async fn response(&mut self, case: &Case) -> TestResponse;
}

/// The head of a request with an absolute URI, and its body.
fn build_request(case: &Case, scheme: &str) -> Request<Body> {
    let uri = format!("{scheme}://{HOST}{}", case.path);
    let mut request = Request::builder().method(case.method).uri(uri);
    for (name, value) in &case.fields {
        request = request.header(*name, value);
    }
    let piece = |byte, len| Ok::<_, Infallible>(Bytes::from(vec![byte; len]));
    let body = match case.payload {
        Payload::Nothing => Body::empty(),
        Payload::Text(text) => Body::from(text),
        Payload::Streamed(len) => Body::from_stream(stream::iter(
            (0..len.div_ceil(1_000)).map(move |_| piece(b'x', 1_000)),
        )),
        Payload::Stalled => {
            Body::from_stream(stream::iter([piece(b'x', 1)]).chain(stream::pending()))
        }
    };
    request.body(body).expect("a request")
}

async fn read<B>(response: Response<B>) -> TestResponse
where
    B: http_body::Body<Data = Bytes, Error: std::fmt::Debug>,
{
    let (head, body) = response.into_parts();
    let body = timeout(PATIENCE, body.collect()).await.expect("an end").expect("a body");
    TestResponse {
        status: head.status.as_u16(),
        fields: lines(&head.headers),
        body: String::from_utf8_lossy(&body.to_bytes()).into_owned(),
    }
}

fn lines(headers: &HeaderMap) -> Vec<String> {
    let text = |value: &HeaderValue| value.to_str().expect("a text").to_owned();
    headers.iter().map(|(name, value)| format!("{name}: {}", text(value))).collect()
}

/// The address of a server, and how to trust it if it uses TLS.
pub(crate) struct Place {
    pub(crate) address: SocketAddr,
    pub(crate) trust: Option<rustls::ClientConfig>,
}

trait Socket: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Socket for T {}

impl Place {
    /// A connection for this version, by its ALPN name.
    async fn connect(&self, protocol: &str) -> TokioIo<Box<dyn Socket>> {
        let stream = TcpStream::connect(self.address).await.expect("a server");
        stream.set_nodelay(true).expect("a socket");
        let Some(mut config) = self.trust.clone() else { return TokioIo::new(Box::new(stream)) };
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let name = HOST.try_into().expect("a name");
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream);
        let stream = stream.await.expect("a handshake");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol.as_bytes()));
        TokioIo::new(Box::new(stream))
    }
}

/// HTTP/1.1: requests one after the other on a connection, as long as it lasts.
pub(crate) struct Http1 {
    place: Place,
    sender: Option<http1::SendRequest<Body>>,
}

impl Http1 {
    pub(crate) fn new(place: Place) -> Self {
        Self { place, sender: None }
    }
}

impl Client for Http1 {
    async fn response(&mut self, case: &Case) -> TestResponse {
        let mut request = build_request(case, "https");
        let uri = request.uri().clone();
        let host = uri.host().expect("a host").parse().expect("a field");
        request.headers_mut().insert("host", host);
        let path = uri.path_and_query().expect("a path").as_str();
        *request.uri_mut() = path.parse().expect("a target");
        let mut kept = self.sender.take();
        let is_open = match &mut kept {
            Some(sender) => sender.ready().await.is_ok(),
            None => false,
        };
        let mut sender = match kept.filter(|_| is_open) {
            Some(sender) => sender,
            None => {
                let handshake = http1::handshake(self.place.connect("http/1.1").await);
                let (sender, connection) = handshake.await.expect("a connection");
                tokio::spawn(connection);
                sender
            }
        };
        let response = timeout(PATIENCE, sender.send_request(request)).await.expect("a response");
        let response = read(response.expect("a response")).await;
        // A connection that waits for the rest of a request cannot be reused.
        self.sender = (case.payload != Payload::Stalled).then_some(sender);
        response
    }
}

/// HTTP/2, all requests on one connection.
pub(crate) struct Http2 {
    place: Place,
    sender: Option<http2::SendRequest<Body>>,
}

impl Http2 {
    pub(crate) fn new(place: Place) -> Self {
        Self { place, sender: None }
    }
}

impl Client for Http2 {
    async fn response(&mut self, case: &Case) -> TestResponse {
        if self.sender.is_none() {
            let io = self.place.connect("h2").await;
            let handshake = http2::handshake(TokioExecutor::new(), io);
            let (sender, connection) = handshake.await.expect("a connection");
            tokio::spawn(connection);
            self.sender = Some(sender);
        }
        let sender = self.sender.as_mut().expect("a connection");
        // RFC 9110 7.4: that of the connection.
        let scheme = if self.place.trust.is_some() { "https" } else { "http" };
        let response = timeout(PATIENCE, sender.send_request(build_request(case, scheme))).await;
        read(response.expect("a response").expect("a response")).await
    }
}

/// HTTP/3, all requests on one connection.
pub(crate) struct Http3 {
    place: Place,
    session: Option<Session>,
}

impl Http3 {
    pub(crate) fn new(place: Place) -> Self {
        Self { place, session: None }
    }

    async fn connect(&self) -> Session {
        let client = endpoint(self.place.trust.clone().expect("TLS"));
        let quic = client.connect(self.place.address, HOST).expect("an address");
        Session::over(timeout(PATIENCE, quic).await.expect("a handshake").expect("a handshake"))
            .await
    }
}

impl Client for Http3 {
    async fn response(&mut self, case: &Case) -> TestResponse {
        if self.session.is_none() {
            self.session = Some(self.connect().await);
        }
        let requests = &mut self.session.as_mut().expect("a connection").requests;
        let (head, mut body) = build_request(case, "https").into_parts();
        let stream = requests.send_request(Request::from_parts(head, ())).await;
        let (mut sending, mut receiving) = stream.expect("a stream").split();
        let send = async {
            while let Some(frame) = body.frame().await {
                let data = frame.expect("a piece").into_data().expect("data");
                // The server may have responded already.
                if sending.send_data(data).await.is_err() {
                    return;
                }
            }
            let _ = sending.finish().await;
        };
        let receive = async {
            let head = receiving.recv_response().await.expect("a response");
            let mut body = Vec::new();
            while let Some(mut data) = receiving.recv_data().await.expect("a body") {
                body.extend_from_slice(&data.copy_to_bytes(data.remaining()));
            }
            (head, body)
        };
        let both = async {
            tokio::pin!(send, receive);
            tokio::select! {
                received = &mut receive => received,
                () = &mut send => receive.await,
            }
        };
        let (head, body) = timeout(PATIENCE, both).await.expect("a response");
        TestResponse {
            status: head.status().as_u16(),
            fields: lines(head.headers()),
            body: String::from_utf8_lossy(&body).into_owned(),
        }
    }
}
