//! How far a handler controls the caching of its response.

use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{CACHE_CONTROL, VARY},
};
use policy_core::cache::{CacheExchange, ResponseFacts, apply};
use proptest::{collection::vec, prelude::*, sample::select};

use policy_core_tests::law::{Precondition, holds};

/// Regardless of its handler, a response with a secret is not stored, and a personal one is not
/// stored by shared caches. If neither applies, its fields stay unchanged.
#[test]
fn a_handler_makes_it_stricter_only() {
    let directive = select(vec![
        "public",
        "private",
        "no-store",
        "no-cache",
        "max-age=60",
        "max-age=0",
        "MAX-AGE=5",
        "max-age=x",
        "max-age",
        "max-age=\"5\"",
        "s-maxage=60",
        "must-revalidate",
        "proxy-revalidate",
        "immutable",
        "private=\"x-a\"",
        "no-cache=\"set-cookie\"",
        "x=\"a, private, max-age=9, no-store\"",
        "x=\"\\\", private",
        "Private",
        "No-Store",
        "stale-while-revalidate=9",
        "",
        "é",
    ]);
    let lines = vec(vec(directive, 1..5), 0..3);
    let flags = [0.1, 0.1, 0.1, 0.1, 0.5, 0.5].map(prop::bool::weighted);
    let vary = vec(select(vec!["*", "accept", "Cookie", "origin, cookie", "cookies"]), 0..3);
    holds("strictness", 29, (lines, flags, vary), |(lines, flags, vary)| {
        let flag = |at: usize| flags[at];
        let facts = ResponseFacts {
            cookie_set: flag(0),
            csrf_token_rendered: flag(1),
            credential_issued: flag(2),
            refused: flag(3),
            session_read: flag(4),
            bearer: flag(5),
            bearer_absent: false,
            nonce_written: false,
        };
        let mut headers = HeaderMap::new();
        let targeted = HeaderName::from_static("cdn-cache-control");
        headers.insert(&targeted, HeaderValue::from_static("public, max-age=9"));
        for line in &lines {
            let line = HeaderValue::from_bytes(line.join(" , ").as_bytes()).expect("a value");
            headers.append(CACHE_CONTROL, line);
        }
        for line in &vary {
            headers.append(VARY, HeaderValue::from_static(line));
        }
        let before = headers.clone();
        apply(None, exchange(facts), &mut headers);

        let secret = (0..4).any(flag);
        let personal = flag(4) || flag(5);
        if !secret && !personal {
            prop_assert_eq!(headers, before);
            return Ok(Precondition::met_if(false));
        }
        prop_assert!(!headers.contains_key(&targeted));
        let all: Vec<_> = headers.get_all(CACHE_CONTROL).iter().collect();
        prop_assert_eq!(all.len(), 1);
        let control = headers.get(CACHE_CONTROL).expect("one").to_str().expect("text");
        if secret {
            prop_assert_eq!(control, "no-store");
        } else if control != "no-store" {
            let words: Vec<&str> = control.split(", ").collect();
            prop_assert_eq!(words.iter().filter(|word| **word == "private").count(), 1);
            let harmless = |word: &&str| {
                let seconds =
                    |name: &str| word.strip_prefix(name).is_some_and(|n| n.parse::<u64>().is_ok());
                ["private", "no-cache", "must-revalidate", "immutable"].contains(word)
                    || seconds("max-age=")
                    || seconds("stale-while-revalidate=")
            };
            prop_assert!(words.iter().all(harmless), "{}", control);
            // `no-store` outside of quotes is respected.
            let is_wish = |word: &&str| word.eq_ignore_ascii_case("no-store");
            let quotes = lines.iter().flatten().any(|word| word.contains('\\'));
            prop_assert!(quotes || !lines.iter().flatten().any(is_wish), "{}", control);
        }
        let varies = |token: &str| {
            let lines = headers.get_all(VARY).iter().map(|line| line.to_str().expect("text"));
            lines.flat_map(|line| line.split(',')).any(|one| one.trim().eq_ignore_ascii_case(token))
        };
        let by_cookie = flag(0) || flag(1) || flag(4);
        prop_assert!(!by_cookie || varies("cookie") || varies("*"));
        let by_token = flag(5) && control != "no-store" && control != "private, no-cache";
        prop_assert!(!by_token || varies("authorization") || varies("*"));
        let is_added = !headers.get_all(VARY).iter().eq(before.get_all(VARY));
        prop_assert!(by_cookie || by_token || !is_added);
        Ok(Precondition::met_if(!secret && !lines.is_empty()))
    });
}

/// A choice of the handler that is strict enough is kept.
#[test]
fn strict_enough_choices_of_handlers_are_kept() {
    for (choice, kept) in [
        ("no-store", "no-store"),
        ("private, max-age=60", "private, max-age=60"),
        ("max-age=60, Private, immutable", "private, max-age=60, immutable"),
        ("private, no-cache, must-revalidate", "private, no-cache, must-revalidate"),
        ("public, private, max-age=1, s-maxage=9", "private, max-age=1"),
        ("private", "private, no-cache"),
        ("max-age=60", "private, no-cache"),
        ("private, max-age=1, max-age=2", "private, no-cache"),
        ("private=\"a\", max-age=1", "private, no-cache"),
        ("private, x=\", max-age=1, \"", "private, no-cache"),
        ("x=\"\\\", private, max-age=1, \"", "private, no-cache"),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(choice));
        apply(
            None,
            exchange(ResponseFacts { bearer: true, ..ResponseFacts::default() }),
            &mut headers,
        );
        assert_eq!(headers.get(CACHE_CONTROL).expect("one"), kept, "{choice}");
    }
}

fn exchange(facts: ResponseFacts) -> CacheExchange<'static> {
    CacheExchange { method: &Method::GET, status: StatusCode::OK, facts }
}
