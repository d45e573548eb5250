//! The `Cookie` fields of a request, one per line.

use data_encoding::BASE64URL_NOPAD;
use policy_core::cookie::{CookieError, Cookies, PresentedCookie, presented};
use policy_server::http::{HeaderMap, HeaderValue, header::COOKIE};

use crate::engine::{Seen, Target, bounded};

const NAME: &str = "__Host-sid";

/// RFC 6265 4.2 and 5.4: the lines joined, split at semicolons, each pair at its first `=`.
fn pairs(lines: &[HeaderValue]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let joined: Vec<&[u8]> =
        lines.iter().map(HeaderValue::as_bytes).filter(|line| !line.is_empty()).collect();
    let joined = joined.join(&b"; "[..]);
    let trimmed = |bytes: &[u8]| {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let from = bytes.iter().position(|byte| !is_blank(byte)).unwrap_or(bytes.len());
        let to = bytes.iter().rposition(|byte| !is_blank(byte)).map_or(from, |last| last + 1);
        bytes[from..to].to_vec()
    };
    let pieces: Vec<Vec<u8>> = joined.split(|byte| *byte == b';').map(trimmed).collect();
    let pieces: Vec<_> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
    if joined.len() > 16 * 1024 {
        return None;
    }
    let pair = |piece: Vec<u8>| {
        let at = piece.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (trimmed(&piece[..at]), trimmed(&piece[at + 1..]));
        (!name.is_empty()).then_some((name, value))
    };
    Some(pieces.into_iter().filter_map(pair).collect())
}

/// The value of a name, or the number of different values.
fn value<'a>(
    pairs: &'a [(Vec<u8>, Vec<u8>)],
    name: &[u8],
) -> Result<Option<&'a [u8]>, CookieError> {
    let mut values: Vec<&[u8]> =
        pairs.iter().filter(|(found, _)| found == name).map(|(_, value)| &**value).collect();
    values.dedup();
    match values[..] {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => Err(CookieError::Ambiguous),
    }
}

fn is_id(value: &[u8]) -> bool {
    BASE64URL_NOPAD.decode(value).is_ok_and(|id| id.len() == 32)
}

fn check(input: &[u8]) -> Seen {
    let lines = input.split(|byte| *byte == b'\n').map(HeaderValue::from_bytes);
    let Ok(lines) = lines.collect::<Result<Vec<_>, _>>() else {
        return Seen::new(false, "no header");
    };
    let mut headers = HeaderMap::new();
    for line in &lines {
        headers.append(COOKIE, line.clone());
    }
    let expected = pairs(&lines);
    let read = bounded(input.len(), || {
        let cookies = Cookies::read(&headers)?;
        let all = cookies.iter().map(|(name, value)| (name.to_vec(), value.to_vec()));
        Ok::<_, CookieError>((
            all.collect::<Vec<_>>(),
            cookies.get("theme").map(|it| it.map(<[u8]>::to_vec)),
        ))
    });
    match (&expected, &read) {
        (None, Err(CookieError::RequestTooLarge)) => (),
        (Some(expected), Ok((all, theme))) => {
            assert_eq!(all, expected);
            let expected = value(expected, b"theme").map(|it| it.map(<[u8]>::to_vec));
            assert_eq!(*theme, expected);
        }
        _ => panic!("{expected:?} and {read:?}"),
    }

    let found = bounded(input.len(), || presented(&headers, NAME));
    let session = expected.as_ref().map(|pairs| value(pairs, NAME.as_bytes()));
    let kind = match (&session, &found) {
        (_, Ok(PresentedCookie::Candidate(id))) => {
            // A single line that begins with the cookie is not parsed to its end.
            let text = id.text();
            let is_first = lines[0].as_bytes() == format!("{NAME}={text}").as_bytes();
            assert!(is_first || session == Some(Ok(Some(text.as_bytes()))), "{session:?}");
            3
        }
        (None, Err(CookieError::RequestTooLarge)) => 4,
        (Some(Ok(None)), Ok(PresentedCookie::Absent)) => 0,
        (Some(Err(_)), Ok(PresentedCookie::Ambiguous)) => 1,
        (Some(Ok(Some(value))), Ok(PresentedCookie::Malformed)) if !is_id(value) => 2,
        _ => panic!("{session:?} and {found:?}"),
    };
    let count = expected.map_or(99, |pairs| pairs.len().min(70));
    Seen::new(count > 0, (kind, count, lines.len().min(4)))
}

#[test]
fn request_cookies_match_a_second_parser() {
    Target {
        name: "cookie",
        corpus: include_str!("../corpus/cookie.txt"),
        dictionary: &[
            b";",
            b"; ",
            b"=",
            b"\n",
            b"\t",
            b" ",
            b"\"",
            b",",
            b"__Host-sid",
            b"__Host-sid=",
            b"__host-sid=",
            b"theme",
            b"theme=",
            b"theme=dark; ",
            b"a=b;",
            b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            b"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB",
            b"\x0c",
            b"\x80",
            b"%3B",
            b"$Version=1; ",
        ],
        max_len: 17_000,
        check,
    }
    .run();
}
