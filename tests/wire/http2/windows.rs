//! Flow control: the server's settings, and clients that never read their responses.

use policy_tests::frames::{
    ConnectionEnd, DATA, FLOW_CONTROL_ERROR, HEADERS, PING, PROTOCOL_ERROR, Raw, SETTINGS,
    WINDOW_UPDATE, frame, get, setting,
};

use super::*;

const IDLE: Duration = Duration::from_millis(800);

async fn impatient() -> Running {
    Running::start(app().settings(ServerSettings::default().idle_timeout(IDLE))).await
}

/// Sends the same bytes periodically until the server closes.
async fn until_closed(time: &StoppedTime, raw: &mut Raw, bytes: &[u8]) {
    let closed = async {
        loop {
            let tick = time.pass(IDLE / 16);
            tokio::select! {
                frame = raw.frame() => if frame.is_none() { return },
                () = tick => drop(raw.send(bytes).await),
            }
        }
    };
    http::soon(closed).await;
}

#[tokio::test]
async fn windows_are_announced_with_the_other_limits() {
    let server = Running::start(app()).await;
    let mut raw = Raw::open(server.address).await;
    let first = raw.frame().await.expect("SETTINGS");
    assert_eq!((first.kind, first.flags), (SETTINGS, 0));
    let announced: Vec<&[u8]> = first.payload.chunks(6).collect();
    let limits = [(3, 200), (4, 512 * 1024), (5, 16 * 1024), (6, 64 * 1024), (8, 1)];
    for (id, value) in limits {
        assert!(announced.contains(&&setting(id, value)[..]), "{id}: {announced:?}");
    }
    let of_connection = loop {
        let frame = raw.frame().await.expect("a window");
        if (frame.kind, frame.stream) == (WINDOW_UPDATE, 0) {
            break frame.payload;
        }
    };
    assert_eq!(of_connection, (1024 * 1024_u32 - 65_535).to_be_bytes());
}

#[tokio::test]
async fn windows_that_never_open_do_not_hold_a_connection() {
    let time = StoppedTime::begin();
    let server = impatient().await;
    for window in [0, 65_535] {
        let mut raw = Raw::open_with(server.address, &[(4, window)]).await;
        for stream in 0..50 {
            let path = if stream % 2 == 0 { "/large" } else { "/stream" };
            raw.send(get(2 * stream + 1, path)).await;
        }
        // A PING does not prolong the wait.
        until_closed(&time, &mut raw, &frame(PING, 0, 0, &[1; 8])).await;
    }
    assert_serving(&server).await;
}

#[tokio::test]
async fn windows_that_open_by_the_byte_do_not_hold_a_connection() {
    let time = StoppedTime::begin();
    let server = impatient().await;
    let mut raw = Raw::open_with(server.address, &[(4, 0)]).await;
    raw.send(get(1, "/stream")).await;
    until_closed(&time, &mut raw, &frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1])).await;
    assert_serving(&server).await;
}

#[tokio::test]
async fn frames_without_requests_do_not_keep_a_connection_open() {
    let time = StoppedTime::begin();
    let server = impatient().await;
    let mut raw = Raw::open(server.address).await;
    raw.send(get(1, "/hello")).await;
    assert_eq!(raw.response(1).await, Ok((200, "hello".to_owned())));
    until_closed(&time, &mut raw, &frame(PING, 0, 0, &[1; 8])).await;
    assert_serving(&server).await;
}

#[tokio::test]
async fn windows_that_open_slowly_are_waited_for() {
    let (time, idle) = (StoppedTime::begin(), IDLE);
    let server = Running::start(app().settings(ServerSettings::default().idle_timeout(idle))).await;
    let mut raw = Raw::open_with(server.address, &[(4, 0)]).await;
    raw.send(get(1, "/stream")).await;
    assert_eq!(raw.frame_of(1).await.kind, HEADERS);
    for _ in 0..20 {
        time.pass(idle / 8).await;
        raw.send(frame(WINDOW_UPDATE, 0, 1, &[0, 0, 1, 0])).await;
        raw.send(frame(PING, 0, 0, &[1; 8])).await;
        loop {
            let data = raw.frame_of(1).await;
            assert_eq!(data.kind, DATA);
            if !data.payload.is_empty() {
                break;
            }
        }
    }
}

/// RFC 9113 6.9.1 and 6.5.2.
#[tokio::test]
async fn windows_have_an_end() {
    let server = Running::start(app()).await;
    let most = frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]);
    for bytes in [most, frame(SETTINGS, 0, 0, &setting(4, 1 << 31))] {
        let mut raw = Raw::open(server.address).await;
        raw.send(&bytes).await;
        let errors = [PROTOCOL_ERROR, FLOW_CONTROL_ERROR].map(ConnectionEnd::Goaway);
        assert!(errors.contains(&raw.end().await), "{bytes:?}");
    }
    assert_serving(&server).await;
}
