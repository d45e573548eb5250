//! A cookie to set: its name, value, path, domain and flags, one per line.

use std::time::Duration;

use policy_core::cookie::{CookieSpec, SameSite};

use crate::engine::{Seen, Target, bounded, magnitude};

type Attributes<'a> = Vec<(String, &'a str)>;

/// What a browser makes of a `Set-Cookie` field (RFC 6265bis 5.6): the pair, and the attributes
/// in lower case. Browsers drop the field at a control character, and what is over their limits.
fn parsed(field: &str) -> Option<(&str, &str, Attributes<'_>)> {
    let is_control = |byte: u8| (byte < 0x20 && byte != b'\t') || byte == 0x7f;
    if field.bytes().any(is_control) {
        return None;
    }
    let mut parts = field.split(';');
    let trim = |text| str::trim_matches(text, [' ', '\t']);
    let (name, value) = parts.next()?.split_once('=')?;
    let (name, value) = (trim(name), trim(value));
    if name.len() + value.len() > 4096 {
        return None;
    }
    let attribute = |part| {
        let (name, value) = str::split_once(part, '=').unwrap_or((part, ""));
        (trim(name).to_ascii_lowercase(), trim(value))
    };
    let attributes: Vec<_> = parts.map(attribute).collect();
    attributes.iter().all(|(_, value)| value.len() <= 1024).then_some((name, value, attributes))
}

fn check(input: &[u8]) -> Seen {
    let Ok(text) = str::from_utf8(input) else { return Seen::new(false, "no text") };
    let mut lines = text.split('\n').map(str::to_owned);
    let mut line = || lines.next().unwrap_or_default();
    let (name, value, path, domain, flags) = (line(), line(), line(), line(), line());
    let has = |flag| flags.contains(flag);
    let mut spec = CookieSpec::new(name.clone());
    let mut expected = Vec::new();
    if !domain.is_empty() {
        spec = spec.domain(domain.clone());
        expected.push(("domain".to_owned(), &*domain));
    }
    if !path.is_empty() {
        spec = spec.path(path.clone());
        expected.push(("path".to_owned(), &*path));
    }
    let age = flags.chars().filter(char::is_ascii_digit).take(12).collect::<String>();
    if let Ok(seconds) = age.parse::<u64>() {
        spec = spec.max_age(Duration::from_secs(seconds));
        expected.push(("max-age".to_owned(), &*age));
    }
    let leading = age.len() > 1 && age.starts_with('0');
    if has('s') {
        spec = spec.secure();
        expected.push(("secure".to_owned(), ""));
    }
    if has('h') {
        spec = spec.http_only();
        expected.push(("httponly".to_owned(), ""));
    }
    let (same_site, written) = match (has('n'), has('t')) {
        (true, _) => (SameSite::None, "None"),
        (_, true) => (SameSite::Strict, "Strict"),
        _ => (SameSite::Lax, "Lax"),
    };
    expected.push(("samesite".to_owned(), written));
    if has('p') {
        spec = spec.partitioned();
        expected.push(("partitioned".to_owned(), ""));
    }

    let set = bounded(input.len(), || spec.same_site(same_site).set(&value));
    let Ok(field) = set else {
        return Seen::new(false, set.map_err(|fault| fault.to_string()).err());
    };
    let field = field.to_str().expect("ASCII");
    let (read_name, read_value, mut attributes) = parsed(field).expect("a browser takes it");
    assert_eq!((read_name, read_value), (&*name, &*value), "{field}");
    // A cookie with lifetime zero also has `Expires`.
    attributes.retain(|(name, _)| name != "expires");
    if !leading {
        assert_eq!(attributes, expected, "{field}");
    }
    let prefix = name.to_ascii_lowercase();
    let is_secure = has('s');
    assert!(!prefix.starts_with("__secure-") || is_secure, "{field}");
    let is_host = is_secure && path == "/" && domain.is_empty();
    assert!(!prefix.starts_with("__host-") || is_host, "{field}");
    assert!(is_secure || same_site != SameSite::None, "{field}");
    Seen::new(true, (attributes.len(), flags.len().min(8), magnitude(name.len())))
}

#[test]
fn a_cookie_that_is_set_is_the_cookie_that_a_browser_reads() {
    Target {
        name: "set_cookie",
        corpus: include_str!("../corpus/set_cookie.txt"),
        dictionary: &[
            b"\n",
            b";",
            b"; Domain=evil.example",
            b"=",
            b"\"",
            b",",
            b"\\",
            b"\r\n",
            b"\t",
            b" ",
            b"__Host-",
            b"__Secure-",
            b"__Http-",
            b"__host-",
            b"/",
            b"shop.example",
            b".example",
            b"co.uk",
            b"127.0.0.1",
            b"s",
            b"h",
            b"n",
            b"t",
            b"p",
            b"34560000",
            b"34560001",
            b"\xc3\xa9",
            b"\x7f",
            b"\x00",
        ],
        max_len: 5_000,
        check,
    }
    .run();
}
