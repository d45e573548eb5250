//! The contents of a token: its header, a zero byte, and its claims. They are signed with a known
//! key, so that the JSON scanner after the signature check is reached.

use data_encoding::BASE64URL_NOPAD;

use super::token::check_token;
use crate::{
    engine::{Seen, Target},
    verdict::{Json, SECRETS, signature},
};

/// The header of the app's own tokens.
const HEADER: &[u8] = br#"{"alg":"HS256","typ":"at+jwt","kid":"a"}"#;

fn check(input: &[u8]) -> Seen {
    let (header, claims) = match input.iter().position(|byte| *byte == 0) {
        Some(at) => (&input[..at], &input[at + 1..]),
        None => (HEADER, input),
    };
    let encode = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
    let message = format!("{}.{}", encode(header), encode(claims));
    let signature = signature(&SECRETS[0].1, message.as_bytes());
    let size = |text: &[u8]| match Json::object(text) {
        Some(Ok(object)) => object.size().min(80),
        Some(Err(_)) => 0,
        None => 81,
    };
    let kinds = [&b"\\u"[..], b"\\\"", b"[[", b"{{", b"e", b".", b" "]
        .map(|kind| claims.windows(kind.len()).any(|window| window == kind) as usize);
    let kinds = kinds.iter().fold(0, |bits, bit| bits << 1 | bit);
    let is_own = usize::from(header == HEADER);
    let shape = (size(header).min(8) * 100 + size(claims)) * 256 + kinds * 2 + is_own;
    check_token(format!("{message}.{signature}").as_bytes(), shape as u64)
}

#[test]
fn claims_get_the_verdict_of_a_second_reading() {
    Target {
        name: "json",
        corpus: include_str!("../corpus/json.txt"),
        dictionary: &[
            b"{",
            b"}",
            b"[",
            b"]",
            b":",
            b",",
            b"\"",
            b"\\",
            b"\\\"",
            b"\\u0061",
            b"\\ud83d\\ude00",
            b"\\ud83d",
            b"\\n",
            b"\x00",
            b" ",
            b"\t",
            b"\xef\xbb\xbf",
            b"\xc3\xa9",
            b"\x7f",
            b"\x1f",
            b"true",
            b"false",
            b"null",
            b"1.5",
            b"1e3",
            b"-1",
            b"1e999",
            b"\"iss\":",
            b"\"aud\":",
            b"\"sub\":",
            b"\"iat\":",
            b"\"exp\":",
            b"\"jti\":",
            b"\"nbf\":",
            b"\"scope\":",
            b"\"sid\":",
            b"\"auth_time\":",
            b"\"tenant\":",
            b"\"roles\":",
            b"\"alg\":",
            b"\"typ\":",
            b"\"kid\":",
            b"\"crit\":",
            b"\"b64\":",
            b"\"HS256\"",
            b"\"none\"",
            b"\"application/AT+JWT\"",
            b"\"a\":1,",
            b"[[[[[[[[",
            b"]]]]]]]]",
            b"1800000000",
            b"1800000030",
            b"1800000031",
            b"1799999970",
            b"{\"alg\":\"HS256\",\"typ\":\"at+jwt\",\"kid\":\"a\"}\x00",
        ],
        max_len: 3_100,
        check,
    }
    .run();
}
