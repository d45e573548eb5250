//! Bytes on connections: for any input, the server responds in HTTP or not at all, and goes on.

mod http1;
mod http2;

use std::cell::OnceCell;

use policy_tests::{
    every_policy::app,
    http::{Received, Running, exchange},
};
use tokio::runtime::{Builder, Runtime};

use crate::{
    engine::{Seen, magnitude},
    requests::{Fault, ParsedResponse},
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

thread_local! {
    /// The whole server runs on the thread of its test.
    static SERVER: OnceCell<(Runtime, Running)> = const { OnceCell::new() };
}

/// Sends the bytes on their own connection, then a valid request on another.
fn exchanged(bytes: &[u8]) -> Received {
    SERVER.with(|server| {
        let (runtime, server) = server.get_or_init(|| {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            let server = runtime.block_on(Running::start(app()));
            (runtime, server)
        });
        let before = server.panics();
        let received = runtime.block_on(async {
            let received = exchange(server.address, bytes).await;
            let good = b"GET /lamps/7 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
            let response = exchange(server.address, good).await.bytes;
            assert!(response.starts_with(b"HTTP/1.1 200 "), "`{}`", response.escape_ascii());
            received
        });
        assert_eq!(server.panics(), before, "a task of the server panicked");
        received
    })
}

/// The number of inputs for each target as a test; each is a connection.
const SHORT: u64 = 1_500;

/// Every received byte is part of a response.
fn check(bytes: &[u8]) -> Seen {
    let received = exchanged(bytes);
    if bytes.starts_with(PREFACE) {
        return frames(&received);
    }
    let (mut rest, mut statuses) = (&received.bytes[..], Vec::new());
    while !rest.is_empty() {
        match ParsedResponse::read(rest, false) {
            Ok((response, behind)) => {
                assert_ne!(response.status, 500, "{response:?}");
                rest = behind;
                statuses.push(response.status);
            }
            Err(Fault::Unfinished) if received.was_reset => break,
            Err(fault) => panic!("{fault:?}: `{}`", received.bytes.escape_ascii()),
        }
    }
    Seen::new(statuses.contains(&200), statuses)
}

/// Every received byte is part of a frame that a server may send (RFC 9113 6).
fn frames(received: &Received) -> Seen {
    let (mut rest, mut kinds, mut was_answered) = (&received.bytes[..], Vec::new(), false);
    while let Some((head, behind)) = rest.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let (kind, stream) = (head[3], u32::from_be_bytes([head[5], head[6], head[7], head[8]]));
        assert!(length <= 16_384, "a frame of {length} bytes");
        // The end of the connection may truncate the last frame.
        let Some(payload) = behind.get(..length) else { break };
        let is_right = match kind {
            0 | 1 | 9 => stream % 2 == 1,
            3 => stream > 0 && length == 4,
            4 => stream == 0 && length.is_multiple_of(6) && (head[4] & 1 == 0 || length == 0),
            6 => stream == 0 && length == 8,
            7 => stream == 0 && length >= 8,
            8 => length == 4 && payload != [0; 4],
            _ => false,
        };
        assert!(is_right, "frame {kind} of {length} bytes on stream {stream}");
        // The status is the first field of a block, in the static table if it is 200.
        was_answered |= kind == 1 && payload.contains(&0x88);
        // The error code tells what was detected.
        let code = if kind == 7 { payload.get(7) } else { payload.get(3).filter(|_| kind == 3) };
        kinds.push((kind, code.copied(), magnitude(length)));
        rest = &behind[length..];
    }
    assert_eq!(kinds.first().map(|kind| kind.0), Some(4), "SETTINGS come first");
    kinds.dedup();
    Seen::new(was_answered, kinds)
}
