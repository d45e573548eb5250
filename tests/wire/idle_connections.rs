//! Many connections that do nothing: a server and its clients in a process each, since one cannot
//! have all the descriptors.

use std::{fs, process::Command};

use super::*;
use crate::process::{ServerProcess, again, role, succeeds};

const NAME: &str = "idle_connections::cost_little_and_keep_nobody_out";
const CONNECTIONS: usize = 10_000;
/// Per connection; a debug build needs about what a release build needs.
const MEMORY: usize = 20 * 1024;

#[tokio::test]
async fn cost_little_and_keep_nobody_out() {
    match role().as_deref() {
        None => succeeds(&mut again(NAME, "clients")),
        Some("clients") => be_clients(&mut again(NAME, "server")).await,
        Some(_) => {
            let settings = Settings::default().header_timeout(PATIENCE).idle_timeout(PATIENCE * 4);
            app().settings(settings).serve("127.0.0.1:0").await.unwrap();
        }
    }
}

async fn be_clients(server: &mut Command) {
    let server = ServerProcess::start(server);
    let count = CONNECTIONS.min(open_files() - 100);
    assert!(count >= 1000, "a machine with so few descriptors tests nothing");
    let mut connections = Vec::new();
    // What the first ones need is needed once.
    for _ in 0..100 {
        connections.push(used(&server).await);
    }
    let before = server.memory();
    for _ in connections.len()..count {
        connections.push(used(&server).await);
    }
    let grown = server.memory().saturating_sub(before) / (count - 100);
    assert!(grown < MEMORY, "{grown} bytes for each of {count} connections");

    // They are all still open, and another one finds its place.
    drop(used(&server).await);
    for connection in [0, count / 2, count - 1] {
        let connection = &mut connections[connection];
        connection.send(request("GET /hello", &[])).await;
        assert_eq!(connection.answer().await.text(), "hello");
    }
}

/// A connection that was used and is kept.
async fn used(server: &ServerProcess) -> http::Connection {
    let mut connection = http::Connection::open(server.address).await;
    connection.send(request("GET /hello", &[])).await;
    assert_eq!(connection.answer().await.text(), "hello");
    connection
}

fn open_files() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").expect("Linux");
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    soft.and_then(|soft| soft.parse().ok()).unwrap_or(usize::MAX)
}
