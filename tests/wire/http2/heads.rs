//! Requests whose heads break a rule of HTTP/2, or are ambiguous.

use policy_tests::frames::{
    ConnectionEnd, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PROTOCOL_ERROR, Raw, block,
    frame, get, pseudo,
};

use super::*;

fn with<'a>(fields: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [&pseudo("GET", "/hello"), fields].concat()
}

async fn send(fields: &[(&str, &str)]) -> Result<(u16, String), u32> {
    let server = Running::start(app()).await;
    let response = Raw::open(server.address).await.ask(1, fields, None).await;
    assert_serving(&server).await;
    response
}

/// RFC 9113 8.1.1: a malformed request is a stream error.
#[tokio::test]
async fn heads_that_are_malformed_are_reset() {
    assert_eq!(send(&with(&[])).await, Ok((200, "hello".to_owned())));
    for field in [
        ("connection", "close"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "websocket"),
        ("te", "gzip"),
        ("Accept", "*/*"),
        ("x\0", "1"),
        ("", "1"),
        (":status", "200"),
        (":unknown", "1"),
        (":path", "/again"),
        ("content-length", "5"),
        ("content-length", "x"),
    ] {
        let server = Running::start(app()).await;
        let mut raw = Raw::open(server.address).await;
        let fields = block(&with(&[field]));
        raw.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, &fields)).await;
        raw.send(get(3, "/hello")).await;
        let mut reset = false;
        while let Some(frame) = raw.frame().await {
            let is_response = frame.stream == 1 && frame.kind == HEADERS;
            assert!(!is_response, "{field:?}: {frame:?}");
            // A stream error may be treated as a connection error.
            reset |= frame.stream == 1 || frame.kind == GOAWAY;
            if frame.stream == 3 && frame.kind == DATA {
                break;
            }
        }
        assert!(reset, "{field:?}");
        assert_serving(&server).await;
    }
    let missing: Vec<_> = pseudo("GET", "/hello").into_iter().skip(1).collect();
    assert_eq!(send(&missing).await, Err(PROTOCOL_ERROR));
    let late = [&[("x", "1")], &pseudo("GET", "/hello")[..]].concat();
    assert_eq!(send(&late).await, Err(PROTOCOL_ERROR));
}

#[tokio::test]
async fn heads_that_are_ambiguous_are_refused() {
    let of = |authority| {
        [(":method", "GET"), (":scheme", "http"), (":path", "/hello"), (":authority", authority)]
    };
    for (fields, status, code) in [
        (with(&[("host", "a.example")]), 400, "wire.host-malformed"),
        (with(&[("host", "localhost:80")]), 400, "wire.host-malformed"),
        (with(&[("host", "localhost"), ("host", "localhost")]), 400, "wire.host-repeated"),
        (of("a@localhost").to_vec(), 400, "wire.host-malformed"),
        (of("localhost:x").to_vec(), 400, "wire.host-malformed"),
        (of("a.example").to_vec(), 421, "origin.host-not-loopback"),
        (pseudo("GET", "/hello")[..3].to_vec(), 400, "wire.host-missing"),
        (with(&[("expect", "x")]), 417, "wire.expectation-unknown"),
        (
            with(&[("content-length", "0"), ("content-length", "0")]),
            400,
            "wire.content-length-malformed",
        ),
        (pseudo("GET", "*"), 400, "wire.target-form"),
        (pseudo("GET", "/%"), 400, "wire.path-encoding"),
        (pseudo("GET", "/a/.."), 400, "wire.path-dot-segment"),
    ] {
        match send(&fields).await {
            Ok((found, body)) => {
                assert_eq!(found, status, "{fields:?}");
                assert!(body.contains(code), "{fields:?}: {body}");
            }
            // The parser detected it first.
            Err(reset) => assert_eq!(reset, PROTOCOL_ERROR, "{fields:?}"),
        }
    }
    let asterisk = send(&pseudo("OPTIONS", "*")).await;
    assert_eq!(asterisk, Ok((204, String::new())));
}

/// RFC 9113 8.2.3: they are one field, split for compression.
#[tokio::test]
async fn heads_have_one_line_of_cookies_for_their_handler() {
    let lines = [("cookie", "a=1"), ("cookie", "b=2; c=3"), ("cookie", "d=4")];
    let fields = [&pseudo("GET", "/cookies"), &lines[..]].concat();
    assert_eq!(send(&fields).await, Ok((200, "a=1; b=2; c=3; d=4".to_owned())));
}

/// RFC 9113 8.3.1: a target has no fragment, and one that a client sends is ignored.
#[tokio::test]
async fn heads_have_no_fragment_for_their_handler() {
    let response = send(&pseudo("GET", "/path?q#/../secret")).await;
    assert!(response == Ok((200, "/path?q".to_owned())) || response == Err(PROTOCOL_ERROR));
}

/// RFC 9113 8.1.1.
#[tokio::test]
async fn heads_are_held_to_their_length() {
    let server = Running::start(app()).await;
    let fields = [&pseudo("POST", "/upload"), &[("content-length", "5")][..]].concat();
    for (body, response) in [
        (&b"hello"[..], Ok((200, "hello".to_owned()))),
        (b"hello!", Err(PROTOCOL_ERROR)),
        (b"hell", Err(PROTOCOL_ERROR)),
    ] {
        let found = Raw::open(server.address).await.ask(1, &fields, Some(body)).await;
        assert_eq!(found, response, "{}", body.escape_ascii());
    }
    assert_serving(&server).await;
}

/// RFC 9113 5.1.1.
#[tokio::test]
async fn heads_on_streams_that_are_none_end_the_connection() {
    let server = Running::start(app()).await;
    for bytes in [
        get(0, "/hello"),
        get(2, "/hello"),
        [get(5, "/hello"), get(3, "/hello")].concat(),
        frame(DATA, 0, 1, b"hello"),
    ] {
        let mut raw = Raw::open(server.address).await;
        raw.send(&bytes).await;
        assert_eq!(
            raw.end().await,
            ConnectionEnd::Goaway(PROTOCOL_ERROR),
            "{}",
            bytes.escape_ascii()
        );
    }
    // The last possible stream may be used.
    let mut raw = Raw::open(server.address).await;
    raw.send(get(0x7fff_ffff, "/hello")).await;
    assert_eq!(raw.response(0x7fff_ffff).await, Ok((200, "hello".to_owned())));
    assert_serving(&server).await;
}
