//! How attacks affect other clients: a server process, attackers with a bounded number and time,
//! and a bystander that continues to send requests. `POLICY_ATTACK_SECONDS` is the duration of each
//! attack.
#![cfg(target_os = "linux")]

mod bystander;
mod crowd;
mod http2;
mod slow;

use std::{env, time::Duration};

use bytes::Bytes;
use policy_server::{ServerSettings, prelude::*, response::ByteRanges};
use policy_tests::{
    handlers::{echo, hello},
    http::{self, Connection},
    process::{self, ServerProcess, again, role},
};

use bystander::Bystander;

const SECONDS: &str = "POLICY_ATTACK_SECONDS";

fn length() -> Duration {
    let seconds = env::var(SECONDS).ok();
    Duration::from_secs(seconds.map_or(2, |seconds| seconds.parse().expect("a number")))
}

/// A static body, so that the memory of the server is measured and not a handler's.
static LARGE: [u8; 1 << 20] = [b'x'; 1 << 20];

#[get("/large")]
#[auth(public)]
async fn large() -> (ByteRanges, Bytes) {
    (ByteRanges, Bytes::from_static(&LARGE))
}

/// Runs the server of these tests, in its own process.
async fn be_server() {
    let settings = ServerSettings::default()
        .header_timeout(Duration::from_secs(2))
        .idle_timeout(Duration::from_secs(4));
    let limits = Limits::NONE.timeout(Duration::from_secs(3));
    let app = App::new(())
        .settings(settings)
        .policies(Policies::new().limits(limits))
        .routes(routes![hello, large, echo]);
    app.serve("127.0.0.1:0").await.expect("a server");
}

async fn ask(connection: &mut Connection) {
    connection.send(http::request("GET /hello", &[])).await;
    assert_eq!(connection.response().await.text(), "hello");
}

/// A server that has served many connections at once, and the memory that these took while open,
/// which is the unit for other measurements.
async fn busy_server(test: &str) -> (ServerProcess, usize) {
    let server = ServerProcess::start(&mut again(test, "server"));
    let (sockets, before) = (server.sockets(), server.memory());
    let mut connections = Vec::new();
    for _ in 0..500 {
        let mut connection = Connection::open(server.address).await;
        ask(&mut connection).await;
        connections.push(connection);
    }
    let taken = server.memory().saturating_sub(before);
    drop(connections);
    wait_for_close(&server, sockets).await;
    (server, taken)
}

/// Waits until a server has no more sockets than this.
pub(crate) async fn wait_for_close(server: &ServerProcess, sockets: usize) {
    http::soon(async {
        while server.sockets() > sockets {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// Repeats an attack until it leaves no more memory allocated. The allocator may keep what was
/// taken for the first time, and again for each other thread; a leak grows each time. `unit` is what
/// [`busy_server`] took for its connections.
async fn assert_leaves_nothing(
    server: &ServerProcess,
    unit: usize,
    what: &str,
    mut attack: impl AsyncFnMut(),
) {
    const ROUNDS: usize = 6;

    let sockets = server.sockets();
    let (mut before, mut most) = (server.memory(), 0);
    for round in 1..=ROUNDS {
        attack().await;
        wait_for_close(server, sockets).await;
        let after = server.memory();
        let left = after.saturating_sub(before);
        println!("{what}: {} KiB before, {} KiB after round {round}", before / 1024, after / 1024);
        if left <= (most / 8).max(unit / 10) {
            return;
        }
        (before, most) = (after, left.max(most));
    }
    panic!("{what}: each of {ROUNDS} rounds leaves more memory behind");
}
