//! The memory that floods leave behind, measured in a separate server process.

use std::process::Command;

use super::*;
use crate::http2::{
    floods::{self, Flood},
    frames::{Raw, WINDOW_UPDATE, frame, get},
    process::{ServerProcess, again, role},
};

const NAME: &str = "http2::memory::memory_comes_back_after_each_flood_and_is_bounded_within";

/// The maximum number of rounds; in one of them nothing may be left behind.
const ROUNDS: usize = 6;

/// The memory for unread responses of a connection: 200 streams of 64 KiB, and the output that
/// their handlers have ready.
const UNREAD: usize = 32 << 20;

#[tokio::test]
async fn memory_comes_back_after_each_flood_and_is_bounded_within() {
    if role().is_none() {
        be_client(&mut again(NAME, "server")).await;
    } else {
        app().serve("127.0.0.1:0").await.unwrap();
    }
}

async fn be_client(server: &mut Command) {
    let server = ServerProcess::start(server);
    let address = server.address;
    let floods = floods::all();
    // The allocator may keep memory once; a leak grows in every round.
    let poured: usize = floods.iter().map(Flood::len).sum();
    let mut before = server.memory();
    let mut rounds = 0;
    loop {
        for flood in &floods {
            flood.pour(address).await;
        }
        let after = server.memory();
        let left = after.saturating_sub(before);
        if left < poured / 8 {
            break;
        }
        (before, rounds) = (after, rounds + 1);
        assert!(rounds < ROUNDS, "each round leaves more behind: {left} bytes of {poured} at last");
    }

    // Unlimited windows, and a client that reads nothing.
    let before = server.memory();
    let mut raw = Raw::open_with(address, &[(4, 0x7fff_ffff)]).await;
    raw.send(frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0, 0, 0])).await;
    for stream in 0..200 {
        raw.send(get(2 * stream + 1, "/stream")).await;
    }
    for _ in 0..20 {
        crate::assert_hello(&mut http::Connection::open(address).await).await;
    }
    let taken = server.memory().saturating_sub(before);
    assert!(taken < UNREAD, "{taken} bytes for one connection");
}
