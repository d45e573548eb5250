//! What clients must not send (RFC 9114 4.1.2 and 10.3), and the response to it.

use super::*;
use client::{DATA, HEADERS, exchange, frame, head, lines};

const MESSAGE_ERROR: u64 = 0x10e;
const FRAME_UNEXPECTED: u64 = 0x105;
const FRAME_ERROR: u64 = 0x106;
const REQUEST_INCOMPLETE: u64 = 0x10d;
const EXCESSIVE_LOAD: u64 = 0x107;
const CLOSED_CRITICAL_STREAM: u64 = 0x104;
const ID_ERROR: u64 = 0x108;
const DECOMPRESSION_FAILED: u64 = 0x200;
const ENCODER_STREAM_ERROR: u64 = 0x201;

/// The head of a request with more lines.
fn with(further: &[(&str, &str)]) -> Vec<u8> {
    let mut all = lines("GET", "/hello");
    all.extend_from_slice(further);
    head(&all)
}

#[tokio::test]
async fn sections_that_only_their_bytes_show_to_be_wrong() {
    let server = Server::start(app()).await;
    let quic = server.raw().await;
    assert!(exchange(&quic, &with(&[])).await.unwrap().ends_with(b"hello"), "as it should be");
    let mut late = lines("GET", "/hello");
    late.insert(2, ("x-a", "1"));
    for (what, bytes) in [
        ("a second method", with(&[(":method", "GET")])),
        ("another method", with(&[(":method", "POST")])),
        ("a second scheme", with(&[(":scheme", "https")])),
        ("a second authority", with(&[(":authority", "localhost")])),
        ("a second path", with(&[(":path", "/")])),
        ("a status", with(&[(":status", "200")])),
        ("a protocol that was not offered", with(&[(":protocol", "websocket")])),
        ("one that nobody knows", with(&[(":future", "1")])),
        ("one behind a field", head(&late)),
        ("capital letters", with(&[("X-A", "1")])),
        ("no method", head(&lines("GET", "/hello")[1..])),
        ("no path", head(&lines("GET", "/hello")[..3])),
        ("an empty path", head(&lines("GET", ""))),
        ("a value with a line feed", with(&[("x-a", "a\nb")])),
        ("a name with a blank", with(&[("x a", "1")])),
    ] {
        assert_eq!(exchange(&quic, &bytes).await.unwrap_err(), MESSAGE_ERROR, "{what}");
    }
    assert!(exchange(&quic, &with(&[])).await.unwrap().ends_with(b"hello"), "it goes on");
}

#[tokio::test]
async fn fields_of_another_version_are_refused() {
    let server = Server::start(app()).await;
    let mut session = server.connect().await;
    for (name, value) in [
        ("connection", "close"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "close"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "websocket"),
        ("te", "gzip"),
    ] {
        let mut wrong = request("GET", "/hello");
        wrong.headers_mut().insert(name, value.parse().unwrap());
        assert_eq!(session.response(wrong, "").await.status, 400, "{name}");
    }
    let mut right = request("GET", "/hello");
    right.headers_mut().insert("te", "trailers".parse().unwrap());
    assert_eq!(session.response(right, "").await.status, 200);
}

#[tokio::test]
async fn content_has_the_length_that_the_head_says() {
    let server = Server::start(app()).await;
    let quic = server.raw().await;
    let post = |length: &str, parts: &[&[u8]]| {
        let mut all = lines("POST", "/echo");
        all.push(("content-length", length));
        let parts: Vec<u8> = parts.iter().flat_map(|part| frame(DATA, part)).collect();
        [head(&all), parts].concat()
    };
    assert!(exchange(&quic, &post("5", &[b"he", b"", b"llo"])).await.unwrap().ends_with(b"hello"));
    for (length, parts) in [
        ("5", &[&b"hell"[..]][..]),
        ("5", &[b"hello!"]),
        ("5", &[b"hello", b"!"]),
        ("5", &[]),
        ("0", &[b"x"]),
    ] {
        let code = exchange(&quic, &post(length, parts)).await.unwrap_err();
        assert_eq!(code, MESSAGE_ERROR, "{length} {parts:?}");
    }
    let trailing = [head(&lines("POST", "/trailers")), head(&[(":path", "/")])].concat();
    assert_eq!(exchange(&quic, &trailing).await.unwrap_err(), MESSAGE_ERROR, "in trailers");
}

/// Connection errors (RFC 9114 4.1 and 7.2).
#[tokio::test]
async fn frames_where_they_may_not_be_end_the_connection() {
    let server = Server::start(app()).await;
    let whole = with(&[]);
    let post = head(&lines("POST", "/trailers"));
    let trailers = head(&[("x-a", "1")]);
    for (what, bytes, code) in [
        ("content first", frame(DATA, b"x"), FRAME_UNEXPECTED),
        ("settings", frame(4, b""), FRAME_UNEXPECTED),
        ("a push", frame(5, b"\x00\x00\x00"), FRAME_UNEXPECTED),
        (
            "a push behind a head",
            [&post[..], &frame(5, b"\x00\x00\x00")].concat(),
            FRAME_UNEXPECTED,
        ),
        ("priority of HTTP/2", frame(2, b"\x00\x00\x00\x00\x10"), FRAME_UNEXPECTED),
        (
            "content behind trailers",
            [&post[..], &trailers, &frame(DATA, b"x")].concat(),
            FRAME_UNEXPECTED,
        ),
        ("a head that is cut off", whole[..whole.len() - 1].to_vec(), FRAME_ERROR),
        ("content that is cut off", [&post[..], &frame(DATA, b"hello")[..8]].concat(), FRAME_ERROR),
        ("a dynamic table", frame(HEADERS, b"\x02\x00\x80"), DECOMPRESSION_FAILED),
        ("a number of no field", frame(HEADERS, b"\x00\x00\xff\x7f"), DECOMPRESSION_FAILED),
    ] {
        let quic = server.raw().await;
        // The stream may be reset before the connection is closed.
        assert!(exchange(&quic, &bytes).await.is_err(), "{what}");
        assert_eq!(client::close_code(&soon(quic.closed()).await), code, "{what}");
    }
    assert_eq!(server.response("GET", "/hello").await.text(), "hello", "others go on");
}

/// The handler's response to content that it cannot read must not overtake the end of the connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_ends_its_connection_gets_no_response() {
    let server = Server::start(app()).await;
    let post = head(&lines("POST", "/trailers"));
    let bytes = [&post[..], &head(&[("x-a", "1")]), &frame(DATA, b"x")].concat();
    for round in 0..100 {
        let quic = server.raw().await;
        assert!(exchange(&quic, &bytes).await.is_err(), "a response in round {round}");
    }
}

#[tokio::test]
async fn unknown_frames_are_ignored_within_bounds() {
    let server = Server::start(app()).await;
    let quic = server.raw().await;
    let grease = frame(0x21, b"grease");
    let around = [&grease[..], &with(&[]), &grease].concat();
    assert!(exchange(&quic, &around).await.unwrap().ends_with(b"hello"));
    let endless = [head(&lines("POST", "/echo")), frame(0x21, &[0; 70_000])].concat();
    assert_eq!(exchange(&quic, &endless).await.unwrap_err(), MESSAGE_ERROR);
    let before = frame(0x21, &[0; 70_000]);
    assert_eq!(exchange(&quic, &before).await.unwrap_err(), EXCESSIVE_LOAD);
    assert_eq!(exchange(&quic, b"").await.unwrap_err(), REQUEST_INCOMPLETE);
    assert!(exchange(&quic, &with(&[])).await.unwrap().ends_with(b"hello"), "it goes on");
}

#[tokio::test]
async fn a_head_over_the_limit_gets_431() {
    let settings = ServerSettings::default().header_limit(8 * 1024);
    let server = Server::start(app().settings(settings)).await;
    let quic = server.raw().await;
    // By the encoded length, by the decoded length, and by a length that is announced only.
    let sent = with(&[("x-a", &"a".repeat(9000))]);
    let many = vec![("x-a", "1"); 250];
    let read = with(&many);
    assert!(read.len() < 8192, "{}", read.len());
    for (what, bytes) in [("sent", sent), ("read", read)] {
        let response = exchange(&quic, &bytes).await.unwrap();
        assert_eq!(status_line(&response), "431", "{what}");
    }
    let (mut send, mut receive) = quic.open_bi().await.unwrap();
    // A HEADERS frame of a gibibyte.
    send.write_all(b"\x01\xc0\x00\x00\x00\x40\x00\x00\x00").await.unwrap();
    let response = soon(receive.read_to_end(1024)).await.unwrap();
    assert_eq!(status_line(&response), "431");
    assert!(exchange(&quic, &with(&[])).await.unwrap().ends_with(b"hello"), "it goes on");
}

/// The status in a section whose first line is `:status` with a literal value.
fn status_line(response: &[u8]) -> String {
    let Some((&[HEADERS, _, 0, 0, 0x5f, 0x09, length], rest)) = response.split_first_chunk::<7>()
    else {
        panic!("`{}`", response.escape_ascii());
    };
    let value = &rest[..usize::from(length & 0x7f)];
    if length & 0x80 == 0 {
        return String::from_utf8(value.to_vec()).unwrap();
    }
    // RFC 7541, appendix B: `4` is 011010, `3` is 011001 and `1` is 00001.
    assert_eq!(value, [0b0110_1001, 0b1001_0000, 0b1111_1111], "`{}`", response.escape_ascii());
    "431".to_owned()
}

/// RFC 9114 6.2 and 7.2.7, RFC 9204 4.2 and 4.3.
#[tokio::test]
async fn streams_of_one_direction_keep_to_their_rules() {
    let server = Server::start(app()).await;
    // `None` ends the stream.
    for (what, parts, code) in [
        (
            "push ids that grow",
            &[Some(&b"\x00\x04\x00\x0d\x01\x03"[..]), Some(b"\x0d\x01\x04")][..],
            None,
        ),
        (
            "push ids that decrease",
            &[Some(b"\x00\x04\x00\x0d\x01\x04"), Some(b"\x0d\x01\x03")],
            Some(ID_ERROR),
        ),
        ("a capacity of 0", &[Some(b"\x02\x20"), Some(b"\x20")], None),
        ("a capacity of 32", &[Some(b"\x02\x3f\x01")], Some(ENCODER_STREAM_ERROR)),
        (
            "a capacity of 32, later",
            &[Some(b"\x02"), Some(b"\x20\x3f\x01")],
            Some(ENCODER_STREAM_ERROR),
        ),
        ("an insertion", &[Some(b"\x02\xc0\x01a")], Some(ENCODER_STREAM_ERROR)),
        ("capacities without end", &[Some(b"\x02"), Some(&[0x20; 2000])], Some(EXCESSIVE_LOAD)),
        ("an encoder that ends", &[Some(b"\x02\x20"), None], Some(CLOSED_CRITICAL_STREAM)),
        (
            "a control stream that ends",
            &[Some(b"\x00\x04\x00"), None],
            Some(CLOSED_CRITICAL_STREAM),
        ),
    ] {
        let quic = server.raw().await;
        let mut stream = soon(quic.open_uni()).await.unwrap();
        for part in parts {
            match part {
                Some(bytes) => soon(stream.write_all(bytes)).await.unwrap(),
                None => stream.finish().unwrap(),
            }
            // Each part is read by itself.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        match code {
            Some(code) => {
                assert_eq!(client::close_code(&soon(quic.closed()).await), code, "{what}");
            }
            None => {
                let response = exchange(&quic, &with(&[])).await.unwrap();
                assert!(response.ends_with(b"hello"), "{what}");
            }
        }
    }
}
