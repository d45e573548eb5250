//! Floods of frames that cost a client nothing: each ends its own connection, and others are served
//! meanwhile.

use std::net::SocketAddr;

use policy_tests::frames::{
    CONTINUATION, ConnectionEnd, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM, HEADERS, PING,
    PRIORITY, RST_STREAM, Raw, SETTINGS, WINDOW_UPDATE, block, frame, get, literal, post, pseudo,
    setting,
};

use super::*;

/// The highest stream id, for a request after the flood.
const LAST: u32 = 0x7fff_ffff;

const CALM: ConnectionEnd = ConnectionEnd::Goaway(ENHANCE_YOUR_CALM);

pub(crate) struct Flood {
    pub(crate) name: &'static str,
    bytes: Vec<u8>,
    /// How its connection ends.
    end: ConnectionEnd,
}

impl Flood {
    fn new(name: &'static str, end: ConnectionEnd, bytes: Vec<u8>) -> Self {
        Self { name, bytes: [bytes, get(LAST, "/hello")].concat(), end }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Sends it to a server, which must not reach the request after it.
    pub(crate) async fn pour(&self, address: SocketAddr) {
        let mut raw = Raw::open(address).await;
        raw.pour(&self.bytes).await;
        assert_eq!(raw.end_and(LAST).await, (self.end, false), "{}", self.name);
    }
}

/// The odd numbers, which are the streams of a client.
fn streams(count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|n| 2 * n + 1)
}

pub(crate) fn all() -> Vec<Flood> {
    let cancel = 8_u32.to_be_bytes();
    let begun = block(&pseudo("GET", "/hello"));
    let small = literal(0, "x", "1");
    let resets = |path| {
        let reset = |stream| [get(stream, path), frame(RST_STREAM, 0, stream, &cancel)].concat();
        streams(5_000).flat_map(reset).collect()
    };
    // A window overflow is a stream error: the server resets the stream.
    let most = [0x7f, 0xff, 0xff, 0xff];
    let provoked =
        |stream| [get(stream, "/never"), frame(WINDOW_UPDATE, 0, stream, &most)].concat();
    let bomb = [begun.clone(), literal(0x40, "x", &"x".repeat(3_900)), vec![0xbe; 12_000]];
    let nameless = [begun.clone(), [0; 3].repeat(5_000)].concat();
    vec![
        Flood::new("rapid reset", CALM, resets("/hello")),
        Flood::new("rapid reset of what waits", CALM, resets("/never")),
        Flood::new(
            "resets that the server makes",
            CALM,
            streams(3_000).flat_map(provoked).collect(),
        ),
        Flood::new(
            "CONTINUATION without end",
            CALM,
            [
                frame(HEADERS, END_STREAM, 1, &begun),
                frame(CONTINUATION, 0, 1, &small).repeat(20_000),
            ]
            .concat(),
        ),
        Flood::new(
            "empty CONTINUATION",
            CALM,
            [frame(HEADERS, END_STREAM, 1, &begun), frame(CONTINUATION, 0, 1, &[]).repeat(20_000)]
                .concat(),
        ),
        Flood::new(
            "empty DATA",
            CALM,
            [post(1, "/ignore"), frame(DATA, 0, 1, &[]).repeat(20_000)].concat(),
        ),
        Flood::new(
            "DATA by the byte",
            CALM,
            [post(1, "/ignore"), frame(DATA, 0, 1, b"x").repeat(60_000)].concat(),
        ),
        Flood::new(
            "a bomb of HPACK",
            CALM,
            frame(HEADERS, END_STREAM | END_HEADERS, 1, &bomb.concat()),
        ),
        Flood::new(
            "fields without name",
            ConnectionEnd::Goaway(frames::PROTOCOL_ERROR),
            frame(HEADERS, END_STREAM | END_HEADERS, 1, &nameless),
        ),
        Flood::new("SETTINGS", ConnectionEnd::Closed, frame(SETTINGS, 0, 0, &[]).repeat(100_000)),
        Flood::new(
            "SETTINGS that change windows",
            ConnectionEnd::Closed,
            frame(SETTINGS, 0, 0, &setting(4, 1_000)).repeat(60_000),
        ),
        Flood::new("PING", ConnectionEnd::Closed, frame(PING, 0, 0, &[1; 8]).repeat(60_000)),
        Flood::new(
            "PRIORITY",
            ConnectionEnd::Closed,
            frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 1]).repeat(60_000),
        ),
        Flood::new(
            "WINDOW_UPDATE",
            ConnectionEnd::Closed,
            frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]).repeat(60_000),
        ),
        Flood::new(
            "frames that nobody knows",
            ConnectionEnd::Closed,
            frame(0x77, 0, 0, &[0; 8]).repeat(60_000),
        ),
        Flood::new(
            "resets of what is over",
            ConnectionEnd::Closed,
            [get(1, "/hello"), frame(RST_STREAM, 0, 1, &cancel).repeat(60_000)].concat(),
        ),
    ]
}

#[tokio::test]
async fn floods_end_their_own_connection_while_others_are_served() {
    let server = Running::start(app()).await;
    for flood in all() {
        let others = async {
            for _ in 0..5 {
                assert_serving(&server).await;
            }
        };
        tokio::join!(flood.pour(server.address), others);
    }
}

/// The usual numbers of frames of a busy client are no flood.
#[tokio::test]
async fn frames_of_requests_are_no_flood() {
    let server = Running::start(app()).await;
    let mut raw = Raw::open(server.address).await;
    for stream in streams(100) {
        raw.send(frame(SETTINGS, 0, 0, &[]).repeat(5)).await;
        raw.send(frame(PING, 0, 0, &[1; 8]).repeat(5)).await;
        raw.send(frame(PRIORITY, 0, stream, &[0, 0, 0, 0, 1])).await;
        raw.send(get(stream, "/hello")).await;
        assert_eq!(raw.response(stream).await, Ok((200, "hello".to_owned())));
        raw.send(frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 5])).await;
    }
}

/// The client resets requests that their handlers have received, never many at once. Each may have
/// begun a request at an upstream, which continues.
#[tokio::test]
async fn requests_that_are_accepted_and_given_up_are_counted() {
    const BATCH: u32 = 50;
    let server = Running::start(app()).await;
    let mut raw = Raw::open(server.address).await;
    let mut given_up = 0;
    let mut first = 1;
    'connection: while given_up < 3_000 {
        let waiting = || (0..BATCH).map(|n| first + 2 * n);
        // Requests are taken in their order: once the last one has its response, all are.
        let last = first + 2 * BATCH;
        let requests = waiting().flat_map(|stream| get(stream, "/never"));
        if !raw.send(requests.chain(get(last, "/hello")).collect::<Vec<u8>>()).await {
            break;
        }
        loop {
            match raw.frame().await {
                None => break 'connection,
                Some(frame) if frame.stream == last && frame.flags & END_STREAM != 0 => break,
                Some(_) => (),
            }
        }
        let reset = |stream| frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes());
        raw.send(waiting().flat_map(reset).collect::<Vec<u8>>()).await;
        given_up += BATCH;
        first = last + 2;
    }
    assert!((500..=700).contains(&given_up), "{given_up} requests were given up");
    assert_serving(&server).await;
}
