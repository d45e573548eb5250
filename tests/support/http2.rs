//! HTTP/2 with prior knowledge (RFC 9113 3.3), as the library h2 speaks it.

use bytes::Bytes;
use h2::{client::SendRequest, ext::Protocol};
use http::Request;
use tokio::{net::TcpStream, task::JoinHandle};

use crate::http::{RawResponse, Running, soon};

pub type Client = SendRequest<Bytes>;
pub type Ended = JoinHandle<Result<(), h2::Error>>;

/// A connection, and the task that drives it.
pub async fn connect(server: &Running) -> (Client, Ended) {
    connect_with(server, 65_535).await
}

/// A connection whose streams begin with a window of this size.
pub async fn connect_with(server: &Running, window: u32) -> (Client, Ended) {
    let stream = soon(TcpStream::connect(server.address)).await.expect("a server");
    let handshake = h2::client::Builder::new().initial_window_size(window).handshake(stream);
    let (client, connection) = soon(handshake).await.expect("HTTP/2");
    (client, tokio::spawn(connection))
}

/// A client on a connection that opens WebSockets (RFC 8441).
pub async fn for_websockets(server: &Running) -> Client {
    let stream = soon(TcpStream::connect(server.address)).await.expect("a server");
    let (client, mut connection) = soon(h2::client::handshake(stream)).await.expect("HTTP/2");
    let mut ping = connection.ping_pong().expect("a ping");
    tokio::spawn(connection);
    // The response to the ping follows the server's settings.
    soon(ping.ping(h2::Ping::opaque())).await.expect("a response");
    client
}

/// An extended CONNECT for this protocol.
pub fn opening(path: &str, protocol: &'static str, fields: &[(&str, &str)]) -> Request<()> {
    let fields = [&[("sec-websocket-version", "13")], fields].concat();
    let mut request = request("CONNECT", &format!("http://localhost{path}"), &fields);
    request.extensions_mut().insert(Protocol::from_static(protocol));
    request
}

pub fn request(method: &str, url: &str, fields: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(()).expect("a request")
}

/// Sends a request, and reads the response to its end.
pub async fn send(client: &mut Client, request: Request<()>, body: &str) -> RawResponse {
    *client = soon(client.clone().ready()).await.expect("a connection");
    let (response, mut sending) = client.send_request(request, body.is_empty()).expect("a request");
    if !body.is_empty() {
        sending.send_data(Bytes::from(body.to_owned()), true).expect("a body");
    }
    let (head, mut receiving) = soon(response).await.expect("a response").into_parts();
    let mut body = Vec::new();
    while let Some(data) = soon(receiving.data()).await {
        let data = data.expect("a body");
        receiving.flow_control().release_capacity(data.len()).expect("its window");
        body.extend_from_slice(&data);
    }
    RawResponse::from_parts(&head, body)
}
