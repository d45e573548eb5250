//! Encodes the field section of a response without a dynamic table (RFC 9204 4.5).

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

/// An encoded section, and its size as clients limit it (RFC 9114 4.2.2).
pub(super) struct EncodedSection {
    pub(super) bytes: Bytes,
    pub(super) size: u64,
}

/// A head if there is a status, else trailers.
pub(super) fn encode(status: Option<StatusCode>, headers: &HeaderMap) -> EncodedSection {
    // No dynamic table is referred to.
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(&[0, 0]);
    let mut size = 0;
    if let Some(status) = status {
        line_of_status(&mut out, status);
        size += size_of(":status", status.as_str().as_bytes());
    }
    for (name, value) in headers {
        line(&mut out, name.as_str(), value.as_bytes(), value.is_sensitive());
        size += size_of(name.as_str(), value.as_bytes());
    }
    EncodedSection { bytes: out.into(), size }
}

fn size_of(name: &str, value: &[u8]) -> u64 {
    (name.len() + value.len() + 32) as u64
}

const INDEXED: u8 = 0b1100_0000;
const WITH_NAME_OF_TABLE: u8 = 0b0101_0000;
const WITH_NAME: u8 = 0b0010_0000;

fn line_of_status(out: &mut Vec<u8>, status: StatusCode) {
    let index = match status.as_u16() {
        103 => 24,
        200 => 25,
        304 => 26,
        404 => 27,
        503 => 28,
        100 => 63,
        204 => 64,
        206 => 65,
        302 => 66,
        400 => 67,
        403 => 68,
        421 => 69,
        425 => 70,
        500 => 71,
        _ => {
            integer(out, WITH_NAME_OF_TABLE, 4, 24);
            return string(out, 0, 7, status.as_str().as_bytes());
        }
    };
    integer(out, INDEXED, 6, index);
}

fn line(out: &mut Vec<u8>, name: &str, value: &[u8], is_sensitive: bool) {
    let known = static_lines(name);
    let same = known.iter().find(|(_, known)| known.as_bytes() == value);
    if let Some((index, _)) = same.filter(|_| !is_sensitive) {
        return integer(out, INDEXED, 6, *index);
    }
    if let Some((index, _)) = known.first() {
        // The second bit keeps a value out of the tables of proxies (RFC 9204 4.5.4).
        integer(out, WITH_NAME_OF_TABLE | u8::from(is_sensitive) << 5, 4, *index);
    } else {
        string(out, WITH_NAME | u8::from(is_sensitive) << 4, 3, name.as_bytes());
    }
    string(out, 0, 7, value);
}

/// Encodes an integer with a prefix of `bits` bits (RFC 7541 5.1).
pub(super) fn integer(out: &mut Vec<u8>, first: u8, bits: u32, value: usize) {
    let most = u8::MAX >> (8 - bits);
    let Some(mut rest) = value.checked_sub(most.into()) else {
        return out.push(first | value as u8);
    };
    out.push(first | most);
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Encodes a string whose length has a prefix of `bits` bits (RFC 9204 4.1.2), in the shorter of
/// its two forms.
fn string(out: &mut Vec<u8>, first: u8, bits: u32, text: &[u8]) {
    let length = text.iter().map(|byte| usize::from(code_of(*byte).1)).sum::<usize>().div_ceil(8);
    if length >= text.len() {
        integer(out, first, bits, text.len());
        return out.extend_from_slice(text);
    }
    integer(out, first | 1 << bits, bits, length);
    let (mut pending, mut count) = (0_u64, 0);
    for byte in text {
        let (code, length) = code_of(*byte);
        pending = pending << length | u64::from(code);
        count += u32::from(length);
        if count >= 32 {
            count -= 32;
            out.extend_from_slice(&((pending >> count) as u32).to_be_bytes());
        }
    }
    while count >= 8 {
        count -= 8;
        out.push((pending >> count) as u8);
    }
    if count > 0 {
        // Padding of ones.
        out.push((pending << (8 - count)) as u8 | u8::MAX >> count);
    }
}

pub(super) fn code_of(byte: u8) -> (u32, u8) {
    CODES.get(usize::from(byte)).copied().unwrap_or_default()
}

/// The Huffman code of each byte, and how many bits it has (RFC 7541, appendix B).
const CODES: [(u32, u8); 256] = codes();

/// Codes of one length are consecutive, in the order of their bytes, and follow the shorter ones.
#[expect(clippy::indexing_slicing, reason = "a constant")]
const fn codes() -> [(u32, u8); 256] {
    let mut codes = [(0, 0); 256];
    let (mut length, mut code) = (0, 0);
    while length < 30 {
        length += 1;
        code <<= 1;
        let mut byte = 0;
        while byte < codes.len() {
            if LENGTHS[byte] == length {
                codes[byte] = (code, length);
                code += 1;
            }
            byte += 1;
        }
    }
    codes
}

const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, //
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, //
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, //
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, //
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, //
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, //
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, //
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, //
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, //
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, //
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, //
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, //
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, //
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, //
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, //
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, //
];

/// The lines of the static table with this name (RFC 9204, appendix A). Only the names of response
/// headers are included.
fn static_lines(name: &str) -> &'static [(usize, &'static str)] {
    match name {
        "age" => &[(2, "0")],
        "content-disposition" => &[(3, "")],
        "content-length" => &[(4, "0")],
        "date" => &[(6, "")],
        "etag" => &[(7, "")],
        "last-modified" => &[(10, "")],
        "link" => &[(11, "")],
        "location" => &[(12, "")],
        "set-cookie" => &[(14, "")],
        "accept-ranges" => &[(32, "bytes")],
        "access-control-allow-headers" => &[(33, "cache-control"), (34, "content-type"), (75, "*")],
        "access-control-allow-origin" => &[(35, "*")],
        "cache-control" => &[
            (36, "max-age=0"),
            (37, "max-age=2592000"),
            (38, "max-age=604800"),
            (39, "no-cache"),
            (40, "no-store"),
            (41, "public, max-age=31536000"),
        ],
        "content-encoding" => &[(42, "br"), (43, "gzip")],
        "content-type" => &[
            (44, "application/dns-message"),
            (45, "application/javascript"),
            (46, "application/json"),
            (47, "application/x-www-form-urlencoded"),
            (48, "image/gif"),
            (49, "image/jpeg"),
            (50, "image/png"),
            (51, "text/css"),
            (52, "text/html; charset=utf-8"),
            (53, "text/plain"),
            (54, "text/plain;charset=utf-8"),
        ],
        "strict-transport-security" => &[
            (56, "max-age=31536000"),
            (57, "max-age=31536000; includesubdomains"),
            (58, "max-age=31536000; includesubdomains; preload"),
        ],
        "vary" => &[(59, "accept-encoding"), (60, "origin")],
        "x-content-type-options" => &[(61, "nosniff")],
        "access-control-allow-credentials" => &[(73, "FALSE"), (74, "TRUE")],
        "access-control-allow-methods" => {
            &[(76, "get"), (77, "get, post, options"), (78, "options")]
        }
        "access-control-expose-headers" => &[(79, "content-length")],
        "alt-svc" => &[(83, "clear")],
        "content-security-policy" => {
            &[(85, "script-src 'none'; object-src 'none'; base-uri 'none'")]
        }
        "server" => &[(92, "")],
        "timing-allow-origin" => &[(93, "*")],
        "x-frame-options" => &[(97, "deny"), (98, "sameorigin")],
        _ => &[],
    }
}

#[cfg(test)]
mod tests;
