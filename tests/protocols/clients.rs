//! Clients of each version, by libraries that know nothing of the server.

use std::{convert::Infallible, net::SocketAddr, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use policy_server::{
    Body,
    http::{Request, Response},
};
use tokio::{net::TcpStream, time::timeout};

use crate::{Answer, Case, ORIGIN, Payload};

/// How long an answer may take, on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) trait Client {
    /// The answer to a request, read to its end.
    async fn answer(&mut self, case: &Case) -> Answer;
}

/// The head of a request for the whole address, and its body.
fn asked(case: &Case) -> Request<Body> {
    let mut request = Request::builder().method(case.method).uri(format!("{ORIGIN}{}", case.path));
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

async fn read<B>(response: Response<B>) -> Answer
where
    B: http_body::Body<Data = Bytes, Error: std::fmt::Debug>,
{
    let (head, body) = response.into_parts();
    let body = timeout(PATIENCE, body.collect()).await.expect("an end").expect("a body");
    let fields = head
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().expect("a text")));
    Answer {
        status: head.status.as_u16(),
        fields: fields.collect(),
        body: String::from_utf8_lossy(&body.to_bytes()).into_owned(),
    }
}

async fn connected(address: SocketAddr) -> TokioIo<TcpStream> {
    let stream = TcpStream::connect(address).await.expect("a server");
    stream.set_nodelay(true).expect("a socket");
    TokioIo::new(stream)
}

/// HTTP/1.1, one request after the other on a connection for as long as that lasts.
pub(crate) struct Http1 {
    address: SocketAddr,
    sender: Option<http1::SendRequest<Body>>,
}

impl Http1 {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, sender: None }
    }
}

impl Client for Http1 {
    async fn answer(&mut self, case: &Case) -> Answer {
        let mut request = asked(case);
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
                let handshake = http1::handshake(connected(self.address).await);
                let (sender, connection) = handshake.await.expect("a connection");
                tokio::spawn(connection);
                sender
            }
        };
        let response = timeout(PATIENCE, sender.send_request(request)).await.expect("an answer");
        let answer = read(response.expect("an answer")).await;
        // One that waits for the rest of a request is of no more use.
        self.sender = (case.payload != Payload::Stalled).then_some(sender);
        answer
    }
}

/// HTTP/2, all requests on one connection.
pub(crate) struct Http2 {
    address: SocketAddr,
    sender: Option<http2::SendRequest<Body>>,
}

impl Http2 {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, sender: None }
    }
}

impl Client for Http2 {
    async fn answer(&mut self, case: &Case) -> Answer {
        if self.sender.is_none() {
            let io = connected(self.address).await;
            let handshake = http2::handshake(TokioExecutor::new(), io);
            let (sender, connection) = handshake.await.expect("a connection");
            tokio::spawn(connection);
            self.sender = Some(sender);
        }
        let sender = self.sender.as_mut().expect("a connection");
        let response = timeout(PATIENCE, sender.send_request(asked(case))).await;
        read(response.expect("an answer").expect("an answer")).await
    }
}
