//! The `Authorization` fields of a request, one per line.

use policy_core::auth::{Authorization, authorization};
use policy_server::http::{HeaderMap, HeaderValue, header::AUTHORIZATION};

use crate::engine::{Seen, Target, bounded, magnitude};

fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// RFC 9110 11.4 and RFC 6750 2.1: one field, a scheme, one space or more, and for `Bearer`
/// nothing but a token68.
fn expected(lines: &[HeaderValue]) -> Authorization<'_> {
    let [line] = lines else {
        return if lines.is_empty() { Authorization::None } else { Authorization::Invalid };
    };
    let line = line.as_bytes();
    let scheme = &line[..line.iter().position(|byte| !is_tchar(*byte)).unwrap_or(line.len())];
    let rest = &line[scheme.len()..];
    if !scheme.eq_ignore_ascii_case(b"bearer") {
        let is_scheme = !scheme.is_empty() && (rest.is_empty() || rest[0] == b' ');
        return if is_scheme { Authorization::OtherScheme } else { Authorization::Invalid };
    }
    let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
    let token = &rest[spaces..];
    let text = token.iter().position(|byte| *byte == b'=').unwrap_or(token.len());
    let is_text = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(byte);
    let is_token = text > 0
        && token[..text].iter().all(is_text)
        && token[text..].iter().all(|byte| *byte == b'=');
    if spaces > 0 && is_token { Authorization::Bearer(token) } else { Authorization::Invalid }
}

fn check(input: &[u8]) -> Seen {
    let lines = input.split(|byte| *byte == b'\n').map(HeaderValue::from_bytes);
    let Ok(lines) = lines.collect::<Result<Vec<_>, _>>() else {
        return Seen::new(false, "no header");
    };
    let mut headers = HeaderMap::new();
    for line in &lines {
        headers.append(AUTHORIZATION, line.clone());
    }
    let found = bounded(input.len(), || authorization(&headers));
    assert!(found == expected(&lines), "{found:?} for {}", input.escape_ascii());
    let is_bearer = matches!(found, Authorization::Bearer(_));
    Seen::new(is_bearer, (format!("{found:?}"), magnitude(input.len()), lines.len().min(4)))
}

#[test]
fn authorization_fields_match_a_second_parser() {
    Target {
        name: "authorization",
        corpus: include_str!("../corpus/authorization.txt"),
        dictionary: &[
            b"Bearer ",
            b"bearer ",
            b"BEARER  ",
            b"Bearer",
            b"Basic ",
            b" ",
            b"\t",
            b"=",
            b"==",
            b",",
            b"\n",
            b"\"",
            b"a.b.c",
            b"-._~+/",
            b"\x80",
            b":",
            b"@",
            b"[",
            b"`",
            b"{",
        ],
        max_len: 400,
        check,
    }
    .run();
}
