//! Many idle connections. Server and clients are separate processes, since one process cannot have
//! enough descriptors.

use std::{convert::Infallible, fs};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use policy_tests::process::{ServerProcess, again, role, succeeds};

use super::*;

const NAME: &str = "idle_connections::idle_connections_cost_little_and_exclude_no_client";
const CONNECTIONS: usize = 10_000;

#[tokio::test]
async fn idle_connections_cost_little_and_exclude_no_client() {
    match role().as_deref() {
        None => succeeds(&mut again(NAME, "clients")),
        Some("clients") => be_clients().await,
        Some("hyper") => serve_by_hyper().await,
        Some(_) => {
            let settings =
                ServerSettings::default().header_timeout(PATIENCE).idle_timeout(PATIENCE * 4);
            app().settings(settings).serve("127.0.0.1:0").await.unwrap();
        }
    }
}

/// Serves with hyper alone, to measure the memory of a connection without this crate.
async fn serve_by_hyper() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    eprintln!("listening on http://{} ", listener.local_addr().expect("an address"));
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        let response = async |_| Ok::<_, Infallible>(::http::Response::new("hello".to_owned()));
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new());
        tokio::spawn(builder.serve_connection(TokioIo::new(stream), service_fn(response)));
    }
}

/// Opens idle connections to a server, each used once, and returns them and the memory of each.
async fn open_idle(server: &ServerProcess, count: usize) -> (Vec<http::Connection>, usize) {
    let mut connections = Vec::new();
    // Initialises what all connections share.
    for _ in 0..100 {
        connections.push(open_used(server).await);
    }
    let before = server.memory();
    for _ in 0..count {
        connections.push(open_used(server).await);
    }
    (connections, server.memory().saturating_sub(before) / count)
}

async fn be_clients() {
    let count = CONNECTIONS.min(open_files() - 200);
    assert!(count >= 1000, "a machine with so few descriptors tests nothing");
    let by_hyper = ServerProcess::start(&mut again(NAME, "hyper"));
    let (_, least) = open_idle(&by_hyper, count / 4).await;
    drop(by_hyper);
    let server = ServerProcess::start(&mut again(NAME, "server"));
    let (mut connections, each) = open_idle(&server, count).await;
    assert!(each < 2 * least, "{each} bytes for each of {count} connections, {least} by hyper");

    // They are all still open, and another one is accepted.
    drop(open_used(&server).await);
    for connection in [0, count / 2, count - 1] {
        assert_hello(&mut connections[connection]).await;
    }
}

/// Opens a connection that is idle after one request.
async fn open_used(server: &ServerProcess) -> http::Connection {
    let mut connection = http::Connection::open(server.address).await;
    assert_hello(&mut connection).await;
    connection
}

fn open_files() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").expect("Linux");
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    soft.and_then(|soft| soft.parse().ok()).unwrap_or(usize::MAX)
}
