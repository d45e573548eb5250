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
    http::{self, Connection, Running, request},
    program,
};

use upstream::{Line, Upstream};

/// Starts an app with this proxy only.
async fn start(proxy: ReverseProxy) -> Running {
    Running::start(App::new(()).proxy(proxy)).await
}

/// A proxy of `/api` that removes the prefix.
async fn stripping(upstream: &Upstream) -> Running {
    start(ReverseProxy::new("/api", upstream.origin()).public().strip_prefix()).await
}

/// Requests `/api`. Returns the client, and the connection on which the upstream has the request.
async fn begin_request(server: &Running, upstream: &Upstream) -> (Connection, Line) {
    let mut connection = server.connect().await;
    connection.send(request("GET /api", &[])).await;
    let mut line = upstream.accept().await;
    line.request().await;
    (connection, line)
}
