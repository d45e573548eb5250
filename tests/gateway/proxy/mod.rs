//! The development proxy over real sockets: the requests that an upstream receives, the responses
//! that a client receives, and failures of either side. The upstreams write raw bytes.

mod bodies;
mod failures;
mod nginx;
mod paths;
mod repeats;
mod requests;
mod responses;
mod secure;
mod starts;
mod upstream;
mod websockets;

use policy_core_tests::law;
use policy_server::{App, ReverseProxy};
use policy_tests::{
    http::{self, Connection, RawRequest, Running, request},
    program,
};

use upstream::Upstream;

/// Starts an app with this proxy only.
async fn start(proxy: ReverseProxy) -> Running {
    Running::start(App::new(()).proxy(proxy)).await
}

/// A proxy of `/api` that removes the prefix.
async fn stripping(upstream: &Upstream) -> Running {
    start(ReverseProxy::new("/api", upstream.origin()).public().strip_prefix()).await
}

/// Sends a request. Returns the client, the connection on which the upstream has the request, and the
/// request there.
async fn send(
    server: &Running,
    upstream: &Upstream,
    request: impl AsRef<[u8]>,
) -> (Connection, Connection, RawRequest) {
    let mut connection = server.connect().await;
    connection.send(request).await;
    let (line, got) = upstream.accept_request().await;
    (connection, line, got)
}

/// Requests `/api`. Returns the client, and the connection on which the upstream has the request.
async fn begin_request(server: &Running, upstream: &Upstream) -> (Connection, Connection) {
    let (connection, line, _) = send(server, upstream, request("GET /api", &[])).await;
    (connection, line)
}
