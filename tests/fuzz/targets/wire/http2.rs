//! HTTP/2, mostly in whole frames.

use super::{PREFACE, SHORT, check};
use crate::engine::{Seen, Target};

/// Builds an HTTP/2 connection from a compact form: for each frame its type, flags, stream, the
/// length of its payload in two bytes, and the payload, so that most mutations keep the frames
/// intact.
fn check_frames(mut short: &[u8]) -> Seen {
    let mut bytes = PREFACE.to_vec();
    while let [kind, flags, stream, high, low, rest @ ..] = short {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (payload, behind) = rest.split_at(length);
        bytes.extend_from_slice(&(length as u32).to_be_bytes()[1..]);
        bytes.extend([*kind, *flags, 0, 0, 0, *stream]);
        bytes.extend(payload);
        short = behind;
    }
    check(&bytes)
}

#[test]
fn every_frame_is_valid_and_the_server_survives() {
    let dictionary: &[&[u8]] = &[
        // A whole request, a body, and frames about the connection.
        b"\x01\x05\x01\0\x1e\x82\x86\x41\x09localhost\x44\x08/lamps/7\x0f\x0d\x010\0\0\0\0\0",
        b"\0\x01\x01\0\x05hello",
        b"\x04\0\0\0\x06\0\x04\0\0\xff\xff",
        b"\x04\x01\0\0\0",
        b"\x06\0\0\0\x0812345678",
        b"\x08\0\0\0\x04\0\0\xff\xff",
        b"\x08\0\x01\0\x04\x7f\xff\xff\xff",
        b"\x03\0\x01\0\x04\0\0\0\x08",
        b"\x02\0\x03\0\x05\0\0\0\x01\xff",
        b"\x09\x04\x01\0\0",
        // Parts of header blocks.
        b"\x82",
        b"\x86",
        b"\x88",
        b"\xbe",
        b"\x3f\xe1\x1f",
        b"\x40\x01x\x7f\x01",
        b"\xff\xff\xff\xff\x7f",
    ];
    let target = Target {
        name: "wire::http2",
        corpus: include_str!("../../corpus/wire/http2.txt"),
        dictionary,
        max_len: 32 * 1024,
        check: check_frames,
    };
    target.run_for(SHORT);
}
