//! Field sections against the examples of the standards.

use http::{HeaderValue, header};

use super::*;

fn string_of(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    string(&mut out, 0, 7, text.as_bytes());
    out
}

/// RFC 7541, C.4 and C.6.
#[test]
fn texts_are_encoded_as_in_the_examples_of_the_standard() {
    let date = b"\x96\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\
        \x2d\x1b\xff";
    let address = b"\x91\x9d\x29\xad\x17\x18\x63\xc7\x8f\x0b\x97\xc8\xe9\xae\x82\xae\x43\xd3";
    assert_eq!(string_of("Mon, 21 Oct 2013 20:13:21 GMT"), date);
    assert_eq!(string_of("https://www.example.com"), address);
    assert_eq!(string_of("private"), b"\x85\xae\xc3\x77\x1a\x4b");
    assert_eq!(string_of("302"), b"\x82\x64\x02");
    // The Huffman code would not be shorter.
    assert_eq!(string_of("{}"), b"\x02{}");
    assert_eq!(string_of(""), b"\x00");
}

/// The code is complete: together with the end-of-string code of 30 bits, no prefix is unused.
#[test]
fn the_codes_are_complete() {
    let taken: u32 = CODES.iter().map(|(_, length)| 1 << (30 - length)).sum();
    assert_eq!(taken, (1 << 30) - 1);
}

/// RFC 7541, C.1.
#[test]
fn integers_are_as_long_as_they_need() {
    for (value, bytes) in
        [(10, &b"\x0a"[..]), (30, b"\x1e"), (31, b"\x1f\x00"), (1337, b"\x1f\x9a\x0a")]
    {
        let mut out = Vec::new();
        integer(&mut out, 0, 5, value);
        assert_eq!(out, bytes);
    }
}

/// Each value near a boundary where an integer needs one more byte is written in the fewest bytes,
/// and read back by the algorithm of RFC 7541 5.1.
#[test]
fn integers_come_back_around_each_length() {
    let read = |bytes: &[u8], bits: u32| {
        let most = (1_usize << bits) - 1;
        let first = usize::from(bytes[0]) & most;
        if first < most {
            return (first, 1);
        }
        let (mut value, mut length) = (most, 1);
        for (place, byte) in bytes[1..].iter().enumerate() {
            value += usize::from(byte & 0x7f) << (7 * place);
            length += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        (value, length)
    };
    for bits in 3..=7 {
        let most = (1_usize << bits) - 1;
        let powers = (0..40).map(|power| 1_usize << power);
        let values = powers.flat_map(|power| [power - 1, power, power + 1]);
        let behind = values.clone().map(|value| value + most);
        for value in values.chain(behind) {
            let mut out = Vec::new();
            integer(&mut out, 0, bits, value);
            let needed = match value.checked_sub(most) {
                None => 1,
                Some(rest) => 1 + (usize::BITS - rest.leading_zeros()).div_ceil(7).max(1) as usize,
            };
            assert_eq!(read(&out, bits), (value, needed), "{value} in {bits} bits");
            assert_eq!(out.len(), needed, "{value} in {bits} bits");
        }
    }
}

#[test]
fn lines_use_the_static_table() {
    let mut headers = HeaderMap::new();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("{}"));
    headers.insert("~~", HeaderValue::from_static("{}"));
    let encoded = encode(Some(StatusCode::OK), &headers);
    assert_eq!(&*encoded.bytes, b"\x00\x00\xd9\xe8\x54\x02{}\x22~~\x02{}");
    assert_eq!(encoded.size, (7 + 3 + 32) + (13 + 8 + 32) + (14 + 2 + 32) + (2 + 2 + 32));
    let teapot = encode(Some(StatusCode::IM_A_TEAPOT), &HeaderMap::new());
    assert_eq!(teapot.bytes[2..4], [0x5f, 24 - 15]);
    assert_eq!(&*encode(None, &HeaderMap::new()).bytes, b"\x00\x00");
}

#[test]
fn sensitive_values_are_kept_out_of_tables() {
    let mut value = HeaderValue::from_static("nosniff");
    value.set_sensitive(true);
    let mut headers = HeaderMap::new();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, value.clone());
    headers.insert("~~", value);
    let bytes = encode(None, &headers).bytes;
    assert_eq!(bytes[2..4], [0b0111_1111, 61 - 15]);
    assert!(bytes.windows(3).any(|bytes| bytes == [0b0011_0010, b'~', b'~']));
}
