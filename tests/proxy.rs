//! The development proxy over real sockets: what an upstream gets, what comes back, and what
//! becomes of both when somebody is slow, dead or hostile. The upstreams write bytes of their own.
#![expect(clippy::expect_used, clippy::panic, reason = "what a test cannot do without fails it")]
#![expect(
    clippy::print_stdout,
    reason = "a law says how often it was tried, a stream how far it got"
)]
#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]

#[path = "proxy/answers.rs"]
mod answers;
#[path = "proxy/bodies.rs"]
mod bodies;
#[path = "proxy/failures.rs"]
mod failures;
#[path = "support/http.rs"]
mod http;
#[path = "support/law.rs"]
mod law;
#[path = "proxy/nginx.rs"]
mod nginx;
#[path = "proxy/paths.rs"]
mod paths;
#[path = "support/port.rs"]
mod port;
#[path = "support/program.rs"]
mod program;
#[path = "proxy/requests.rs"]
mod requests;
#[path = "proxy/secure.rs"]
mod secure;
#[path = "proxy/starts.rs"]
mod starts;
#[path = "proxy/upstream.rs"]
mod upstream;
#[path = "proxy/websockets.rs"]
mod websockets;

use policy_server::{App, Proxy};

use http::{Connection, Running, request};
use upstream::{Line, Upstream};

/// An app that has nothing but this proxy.
async fn started(proxy: Proxy) -> Running {
    Running::start(App::new(()).proxy(proxy)).await
}

/// A proxy of `/api` without the prefix.
async fn stripping(upstream: &Upstream) -> Running {
    started(Proxy::new("/api", upstream.origin()).strip_prefix()).await
}

/// A client that asked for `/api`, and the connection on which the upstream has its request.
async fn asked(server: &Running, upstream: &Upstream) -> (Connection, Line) {
    let mut connection = server.connect().await;
    connection.send(request("GET /api", &[])).await;
    let mut line = upstream.accept().await;
    line.request().await;
    (connection, line)
}
