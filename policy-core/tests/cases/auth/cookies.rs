//! The sections `cookie_parse`, `session_cookie_pick` and `cookie_emit`.

use std::{collections::BTreeSet, time::Duration};

use http::{HeaderValue, header::COOKIE};
use policy_core::{
    cookie::{CookieError, CookieSpec, Cookies, PresentedCookie, SameSite, presented},
    head::{OwnOrigin, PublicOrigin},
};
use serde_json::{Value, json};

use crate::auth::{lines, section, text};

#[test]
fn every_cookie_field_is_read_as_expected() {
    for case in section("cookie_parse", 14) {
        let headers = lines(&COOKIE, &case["headers"]);
        let cookies = Cookies::read(&headers).expect("within the limits");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let pairs: Vec<_> = cookies.iter().map(|(name, value)| [text(name), text(value)]).collect();
        assert_eq!(json!(pairs), case["expect"], "{case}");
    }
}

#[test]
fn every_session_cookie_is_taken_or_not() {
    for case in section("session_cookie_pick", 11) {
        let headers = lines(&COOKIE, &case["headers"]);
        let found = presented(&headers, text(&case, "cookie_name")).expect("within the limits");
        let found = match found {
            PresentedCookie::Absent => "absent",
            PresentedCookie::Ambiguous => "ambiguous",
            PresentedCookie::Malformed => "malformed",
            PresentedCookie::Candidate(_) => "candidate",
        };
        assert_eq!(found, text(&case, "expect"), "{case}");
    }
}

#[test]
fn every_cookie_is_written_or_refused() {
    let (mut written, mut refused, mut of_the_start) = (0, 0, 0);
    for case in section("cookie_emit", 42) {
        let expected = text(&case, "expect");
        match (expected.strip_prefix("error:"), emitted(&case["spec"])) {
            // The server refuses to start.
            (Some("dev_profile_not_loopback"), _) => of_the_start += 1,
            (Some(reason), Err(found)) => {
                assert_eq!(found, reason, "{case}");
                refused += 1;
            }
            (None, Ok(found)) => {
                let found = found.to_str().expect("text").to_owned();
                assert_eq!(attributes(&found), attributes(expected), "{case}");
                written += 1;
            }
            (_, found) => panic!("{found:?} for {case}"),
        }
    }
    assert_eq!((written, refused, of_the_start), (10, 31, 1));
}

fn emitted(spec: &Value) -> Result<HeaderValue, &'static str> {
    if let Some(profile) = spec["profile"].as_str() {
        let own = match profile {
            "dev" => OwnOrigin::Development,
            _ => OwnOrigin::Public(
                PublicOrigin::parse(text(spec, "public_origin")).expect("an origin"),
            ),
        };
        let cookie = CookieSpec::new("__Host-sid").path("/").secure().http_only();
        // The cases write `<id>` in place of an id.
        let written = cookie.at(&own).and_then(|cookie| cookie.set("<id>"));
        return written.map_err(code);
    }
    // The enum has no other variant.
    let same_site = match text(spec, "same_site") {
        "Lax" => SameSite::Lax,
        "Strict" => SameSite::Strict,
        "None" => SameSite::None,
        _ => return Err("same_site"),
    };
    let mut cookie = CookieSpec::new(text(spec, "name").to_owned()).same_site(same_site);
    if spec["secure"] == true {
        cookie = cookie.secure();
    }
    if spec["http_only"] == true {
        cookie = cookie.http_only();
    }
    if spec["partitioned"] == true {
        cookie = cookie.partitioned();
    }
    if let Some(path) = spec["path"].as_str() {
        cookie = cookie.path(path.to_owned());
    }
    if let Some(domain) = spec["domain"].as_str() {
        cookie = cookie.domain(domain.to_owned());
    }
    if let Some(seconds) = spec["max_age"].as_u64() {
        cookie = cookie.max_age(Duration::from_secs(seconds));
    }
    cookie.set(text(spec, "value")).map_err(code)
}

/// The error in the terms of the cases.
fn code(error: CookieError) -> &'static str {
    match error {
        CookieError::Name => "name",
        CookieError::Value => "value",
        CookieError::TooLarge => "too_large",
        CookieError::Path => "path",
        CookieError::Domain => "domain",
        CookieError::MaxAge => "max_age",
        CookieError::PrefixCase => "prefix_case",
        CookieError::PrefixSecure => "prefix_secure",
        CookieError::PrefixHost => "prefix_host",
        CookieError::PrefixHttp => "prefix_http",
        CookieError::SameSiteNoneInsecure => "samesite_none_insecure",
        CookieError::PartitionedInsecure => "partitioned_insecure",
        _ => "an error that no case has",
    }
}

/// Their order does not matter.
fn attributes(cookie: &str) -> (Option<&str>, BTreeSet<&str>) {
    let mut parts = cookie.split("; ");
    (parts.next(), parts.collect())
}
