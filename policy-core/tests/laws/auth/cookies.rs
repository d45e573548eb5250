//! Cookies are read as they were written.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, header::COOKIE};
use policy_core::{
    cookie::{
        CookieError, CookieSpec, Cookies, PresentedCookie, SameSite, SignedCookies, presented,
    },
    secret::SecretKey,
    session::SessionId,
    time::Timestamp,
};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{Index, select},
};

use policy_core_tests::law::{Precondition, holds};

/// The server reads a cookie back with the value that it set, and no part of a name, value or
/// attribute becomes another attribute. The browser is the algorithm of RFC 6265bis 5.6.
#[test]
fn a_written_cookie_is_read_back() {
    holds("round trip", 17, (spec(), value()), |(spec, value)| {
        let Ok(header) = spec.set(&value) else { return Ok(Precondition::met_if(false)) };
        let text = header.as_bytes();
        prop_assert!(header.is_sensitive());
        prop_assert!(text.iter().all(|byte| matches!(byte, b' '..=b'~')));
        let mut parts = text.split(|byte| *byte == b';');
        let pair = parts.next().expect("a pair");

        let line = HeaderValue::from_bytes(pair).expect("a value");
        let headers = HeaderMap::from_iter([(COOKIE, line)]);
        let cookies = Cookies::read(&headers).expect("within the limits");
        prop_assert_eq!(cookies.get(spec.name()), Ok(Some(value.as_bytes())));
        prop_assert_eq!(cookies.iter().count(), 1);

        let names: Vec<String> = parts
            .map(|part| {
                let part = String::from_utf8_lossy(part.trim_ascii()).into_owned();
                part.split('=').next().unwrap_or_default().to_owned()
            })
            .collect();
        let mut known = [
            "Domain",
            "Path",
            "Max-Age",
            "Expires",
            "Secure",
            "HttpOnly",
            "SameSite",
            "Partitioned",
        ]
        .into_iter();
        // Each at most once, in this order.
        prop_assert!(names.iter().all(|name| known.any(|known| known == name)), "{:?}", names);
        prop_assert!(names.iter().any(|name| name == "SameSite"));
        Ok(Precondition::met_if(true))
    });
}

/// A removal removes the cookie: it has the same name, domain and path.
#[test]
fn a_removal_is_about_the_cookie_that_was_set() {
    holds("removal", 27, spec(), |spec| {
        let Ok(set) = spec.set("x") else { return Ok(Precondition::met_if(false)) };
        let removal = spec.remove().expect("what can be set can be removed");
        let of = |header: &HeaderValue| -> Vec<String> {
            let text = header.to_str().expect("text").to_owned();
            let kept =
                |part: &&str| !["Max-Age=", "Expires="].iter().any(|begin| part.starts_with(begin));
            text.split("; ").skip(1).filter(kept).map(str::to_owned).collect()
        };
        prop_assert_eq!(of(&set), of(&removal));
        let begin = format!("{}=;", spec.name());
        prop_assert!(removal.as_bytes().starts_with(begin.as_bytes()));
        Ok(Precondition::met_if(true))
    });
}

/// The fast search for the session cookie finds what the plain parser finds.
#[test]
fn a_session_is_found_as_any_cookie_is() {
    let id = |byte: u8| SessionId::from_bytes([byte; 32]).text();
    let piece = select(vec![
        format!("sid={}", id(1)),
        format!("sid={}", id(2)),
        format!(" sid = {} ", id(1)),
        format!("Sid={}", id(2)),
        format!("sid2={}", id(2)),
        format!("xsid={}", id(2)),
        "sid".to_owned(),
        "sid=".to_owned(),
        format!("sid={}x", id(1)),
        "theme=dark=er".to_owned(),
        String::new(),
        "=".to_owned(),
        "consent=yes, sid=1".to_owned(),
    ]);
    let lines = vec(vec(piece, 1..5), 0..3);
    holds("session", 16, lines, |lines| {
        let headers = headers(&lines.iter().map(|pieces| pieces.join(";")).collect::<Vec<_>>());
        let plain = Cookies::read(&headers).expect("within the limits").get("sid");
        let found = presented(&headers, "sid").expect("within the limits");
        let is_candidate = matches!(found, PresentedCookie::Candidate(_));
        let agrees = match (&found, plain) {
            (PresentedCookie::Absent, value) => value == Ok(None),
            (PresentedCookie::Ambiguous, value) => value == Err(CookieError::Ambiguous),
            (PresentedCookie::Malformed, Ok(Some(value))) => SessionId::parse(value).is_none(),
            (PresentedCookie::Candidate(id), Ok(Some(value))) => id.text().as_bytes() == value,
            _ => false,
        };
        prop_assert!(agrees, "{:?} of {:?}", found, plain);
        Ok(Precondition::met_if(is_candidate))
    });
}

/// The limit applies to any lines, and nothing below it is refused.
#[test]
fn too_long_cookies_are_refused_and_many_are_not() {
    let read = |lines: &[String]| {
        let headers = headers(lines);
        let all = Cookies::read(&headers).map(|_| ());
        assert_eq!(presented(&headers, "sid").map(|_| ()), all);
        all
    };
    // Browsers keep 180 cookies of a site, which a sibling subdomain can set.
    let pairs = |count: usize| vec!["a=b"; count].join("; ");
    assert_eq!(read(&[pairs(180)]), Ok(()));
    assert_eq!(read(&[pairs(180), pairs(180)]), Ok(()));
    let long = |len: usize| format!("a={}", "b".repeat(len - 2));
    assert_eq!(read(&[long(16_384)]), Ok(()));
    let too_large = read(&[long(16_385)]).unwrap_err();
    assert_eq!(too_large, CookieError::RequestTooLarge);
    assert_eq!(too_large.to_string(), "the cookies of a request have at most 16 KiB");
    assert_eq!(read(&[long(8_191), long(8_191)]), Ok(()));
    assert_eq!(read(&[long(8_192), long(8_191)]), Err(CookieError::RequestTooLarge));
}

/// A signed cookie is accepted unchanged, under its own name and before its expiry, or not at all.
#[test]
fn a_changed_signed_cookie_is_refused() {
    let key = |byte: u8| SecretKey::from_bytes([byte; 32]);
    let old = SignedCookies::new("test", "a", &key(1)).expect("an id");
    let new = SignedCookies::new("test", "b", &key(2))
        .and_then(|new| new.verify_with("a", &key(1)))
        .expect("two ids");
    let now = Timestamp::from_seconds(1_800_000_000);
    let cases = (vec(any::<u8>(), 0..40), any::<Index>(), any::<u8>());
    holds("signed", 99, cases, |(payload, at, byte)| {
        let value = old.seal("name", &payload, now.after(Duration::from_secs(1)));
        prop_assert!(CookieSpec::new("name").set(&value).is_ok());
        prop_assert_eq!(new.open("name", value.as_bytes(), now), Ok(payload));
        let late = now.after(Duration::from_secs(1));
        prop_assert_eq!(new.open("name", value.as_bytes(), late), Err(CookieError::Expired));
        let refused = Err(CookieError::Signature);
        prop_assert_eq!(new.open("names", value.as_bytes(), now), refused.clone());
        let other = SignedCookies::new("other", "a", &key(1)).expect("an id");
        prop_assert_eq!(other.open("name", value.as_bytes(), now), refused.clone());
        let mut changed = value.clone().into_bytes();
        *at.get_mut(&mut changed) = byte;
        let is_changed = changed != value.as_bytes();
        if is_changed {
            prop_assert_eq!(new.open("name", &changed, now), refused);
        }
        Ok(Precondition::met_if(is_changed))
    });
}

fn headers(lines: &[String]) -> HeaderMap {
    let value = |line: &String| HeaderValue::from_str(line).expect("a value");
    lines.iter().map(|line| (COOKIE, value(line))).collect()
}

fn spec() -> impl Strategy<Value = CookieSpec> {
    let name = prop_oneof![
        4 => select(vec!["sid", "__Host-sid", "__Secure-a", "__Http-a", "__Host-Http-a", "__host-a", "a!#$%&'*+.^_`|~-1"])
            .prop_map(str::to_owned),
        1 => "[ -~é;=\t]{0,4}",
    ];
    let path = option::of(prop_oneof![
        4 => Just("/".to_owned()),
        1 => "/[a-z;\t\n é]{0,4}",
        1 => "[ -~]{0,4}",
    ]);
    let domain = option::weighted(
        0.2,
        prop_oneof![
            2 => Just("app.example".to_owned()),
            1 => "[a-zA-Z0-9;.: -]{1,8}",
        ],
    );
    let age = option::of(prop_oneof![0..100_u64, 34_559_990..34_560_010_u64]);
    let flags = (prop::bool::weighted(0.8), any::<bool>(), any::<bool>());
    let same_site = select(vec![SameSite::Lax, SameSite::Strict, SameSite::None]);
    (name, path, domain, age, flags, same_site).prop_map(
        |(name, path, domain, age, (secure, http_only, partitioned), same_site)| {
            let mut spec = CookieSpec::new(name).same_site(same_site);
            if let Some(path) = path {
                spec = spec.path(path);
            }
            if let Some(domain) = domain {
                spec = spec.domain(domain);
            }
            if let Some(age) = age {
                spec = spec.max_age(Duration::from_secs(age));
            }
            if secure {
                spec = spec.secure();
            }
            if http_only {
                spec = spec.http_only();
            }
            if partitioned {
                spec = spec.partitioned();
            }
            spec
        },
    )
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[!#-+./0-9:<=>?@A-Z^_`a-z{|}~-]{0,20}",
        1 => any::<String>(),
        1 => "[a-z;, \"\\\\\r\n\u{7f}]{1,8}",
    ]
}
