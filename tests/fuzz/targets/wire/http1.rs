//! HTTP/1.1, byte by byte.

use super::{PREFACE, SHORT, check};
use crate::engine::Target;

#[test]
fn every_response_is_http_and_the_server_survives() {
    let dictionary: &[&[u8]] = &[
        b"\r\n",
        b"\r\n\r\n",
        b"\n",
        b"\r",
        b"GET /lamps HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"HTTP/1.0",
        b"host: localhost\r\n",
        b"content-length: 5\r\n",
        b"transfer-encoding: chunked\r\n",
        b"connection: close\r\n",
        b"connection: keep-alive, upgrade\r\n",
        b"upgrade: h2c\r\n",
        b"expect: 100-continue\r\n",
        b"5\r\nhello\r\n",
        b"0\r\n\r\n",
        b"ffffffffffffffff\r\n",
        b";a=b",
        b"\0",
        PREFACE,
        b"\0\0\0\x04\0\0\0\0\0",
    ];
    let target = Target {
        name: "wire::http1",
        corpus: include_str!("../../corpus/wire/http1.txt"),
        dictionary,
        max_len: 64 * 1024,
        check,
    };
    target.run_for(SHORT);
}
