//! The decision table, row by row.

use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{CACHE_CONTROL, CONTENT_LOCATION, VARY},
};
use policy_core::cache::{CacheExchange, CachePolicy, Caching, ResponseFacts, apply};

const LISTS: CachePolicy = CachePolicy::public().max_age(60).stale_while_revalidate(30).build();
const MINE: CachePolicy = CachePolicy::private().max_age(60).build();
const NEVER: CachePolicy = CachePolicy::no_store().build();
const VARIES: CachePolicy = CachePolicy::unstated().vary(&["Accept", "x-region"]).build();

const NOTHING: ResponseFacts = ResponseFacts {
    cookie_set: false,
    csrf_token_rendered: false,
    credential_issued: false,
    refused: false,
    session_read: false,
    authorization_sent: false,
    bearer: false,
    bearer_absent: false,
    nonce_written: false,
};
const AUTHORIZED: ResponseFacts = ResponseFacts { authorization_sent: true, ..NOTHING };
const SESSION: ResponseFacts = ResponseFacts { session_read: true, ..NOTHING };
const BEARER: ResponseFacts = ResponseFacts { bearer: true, ..NOTHING };
const NONCE: ResponseFacts = ResponseFacts { nonce_written: true, ..NOTHING };

/// The fields of a response whose handler wrote these.
fn finished(
    policy: Option<&CachePolicy>,
    (method, status, facts): (&Method, u16, ResponseFacts),
    written: &[&'static str],
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in written {
        match line.strip_prefix("at ") {
            Some(location) => {
                headers.insert(CONTENT_LOCATION, HeaderValue::from_static(location));
            }
            None => {
                headers.append(CACHE_CONTROL, HeaderValue::from_static(line));
            }
        }
    }
    let status = StatusCode::from_u16(status).expect("a status");
    let caching = policy.map(Caching::new);
    apply(caching.as_ref(), CacheExchange { method, status, facts }, &mut headers);
    headers
}

fn control(
    policy: Option<&CachePolicy>,
    exchange: (&Method, u16, ResponseFacts),
    written: &[&'static str],
) -> String {
    let headers = finished(policy, exchange, written);
    let lines = headers.get_all(CACHE_CONTROL).iter().map(|line| line.to_str().expect("text"));
    lines.collect::<Vec<_>>().join(" / ")
}

#[test]
fn a_declaration_holds_for_good_responses_that_caches_keep() {
    let declared = "public, max-age=60, stale-while-revalidate=30";
    for method in [Method::GET, Method::HEAD] {
        for status in 200..=599 {
            let good = [200, 203, 204, 206, 300, 301, 304, 308];
            let wanted = if good.contains(&status) { declared } else { "no-store" };
            assert_eq!(control(Some(&LISTS), (&method, status, NOTHING), &[]), wanted, "{status}");
        }
    }
}

#[test]
fn a_handler_makes_a_declaration_stricter() {
    for (written, wanted) in [
        ("no-store", "no-store"),
        (
            "public, max-age=3600, stale-while-revalidate=9",
            "public, max-age=60, stale-while-revalidate=9",
        ),
        ("max-age=5", "max-age=5"),
        ("private", "private, max-age=60"),
        ("public, no-cache", "public, no-cache, max-age=60"),
        ("public, s-maxage=600", "public, max-age=60"),
        ("public, s-maxage=5", "public, max-age=60, s-maxage=5"),
        (
            "public, must-revalidate, no-transform",
            "public, max-age=60, must-revalidate, no-transform",
        ),
        ("max-age=5, max-age=6", "no-cache, max-age=60"),
        ("max-age=1h", "no-cache, max-age=60"),
        ("private=\"x-a\", max-age=5", "private, no-cache, max-age=60"),
        ("x-unknown=1", "max-age=60"),
    ] {
        assert_eq!(
            control(Some(&LISTS), (&Method::GET, 200, NOTHING), &[written]),
            wanted,
            "{written}"
        );
    }
    let of_error = control(Some(&LISTS), (&Method::GET, 404, NOTHING), &["public, max-age=5"]);
    assert_eq!(of_error, "public, max-age=5");
    for unclear in ["private", "public, s-maxage=5", "x-unknown"] {
        assert_eq!(control(Some(&LISTS), (&Method::GET, 500, NOTHING), &[unclear]), "no-store");
    }
    assert_eq!(control(Some(&NEVER), (&Method::GET, 200, NOTHING), &["max-age=5"]), "no-store");
}

/// RFC 9111 3.5: `must-revalidate` and `s-maxage` let shared caches keep the response to a request
/// with `Authorization`, such as one that an upstream authenticates.
#[test]
fn a_restriction_of_one_side_opens_no_shared_cache() {
    const AGED: CachePolicy = CachePolicy::unstated().max_age(60).build();
    const ASKED: CachePolicy = CachePolicy::unstated().max_age(60).must_revalidate().build();
    const SHORTER: CachePolicy = CachePolicy::unstated().max_age(60).s_maxage(30).build();
    for (policy, written, wanted) in [
        (&AGED, "max-age=60", "max-age=60"),
        (&AGED, "max-age=60, must-revalidate", "private, max-age=60, must-revalidate"),
        (&AGED, "max-age=60, s-maxage=30", "private, max-age=60"),
        (&AGED, "max-age=60, s-maxage=90", "max-age=60"),
        (&ASKED, "max-age=60", "private, max-age=60, must-revalidate"),
        (&ASKED, "max-age=60, must-revalidate", "max-age=60, must-revalidate"),
        (&ASKED, "public, max-age=5", "max-age=5, must-revalidate"),
        (&SHORTER, "max-age=60", "private, max-age=60"),
        (&SHORTER, "max-age=30", "max-age=30"),
        (&SHORTER, "public, max-age=60", "max-age=60, s-maxage=30"),
    ] {
        let found = control(Some(policy), (&Method::GET, 200, AUTHORIZED), &[written]);
        assert_eq!(found, wanted, "{written} where {policy}");
        // Shared caches may keep the response to any other request.
        let other = control(Some(policy), (&Method::GET, 200, NOTHING), &[written]);
        assert!(!other.contains("private"), "{other}: {written} where {policy}");
    }
}

#[test]
fn personal_responses_stay_private() {
    for facts in [SESSION, BEARER, NONCE] {
        let get = (&Method::GET, 200, facts);
        assert_eq!(control(None, get, &[]), "private, no-cache");
        assert_eq!(control(None, get, &["public, max-age=60"]), "private, no-cache");
        assert_eq!(control(Some(&LISTS), get, &[]), "private, no-cache");
        assert_eq!(control(Some(&MINE), get, &[]), "private, max-age=60");
        assert_eq!(control(Some(&MINE), get, &["max-age=5"]), "private, max-age=5");
        assert_eq!(control(Some(&LISTS), get, &["private"]), "private, max-age=60");
        assert_eq!(control(Some(&NEVER), get, &[]), "no-store");
        assert_eq!(control(Some(&MINE), (&Method::GET, 500, facts), &[]), "no-store");
    }
    let secret = ResponseFacts { cookie_set: true, ..NOTHING };
    assert_eq!(control(Some(&LISTS), (&Method::GET, 200, secret), &["max-age=5"]), "no-store");
}

#[test]
fn strict_enough_choices_of_handlers_are_kept() {
    for (choice, kept) in [
        ("no-store", "no-store"),
        ("No-Store, max-age=60", "no-store"),
        ("private, max-age=60", "private, max-age=60"),
        ("max-age=60, Private, immutable", "private, max-age=60, immutable"),
        ("private, no-cache, must-revalidate", "private, no-cache, must-revalidate"),
        ("public, private, max-age=1, s-maxage=9", "private, max-age=1"),
        ("private", "private, no-cache"),
        ("max-age=60", "private, no-cache"),
        ("private, max-age=1, max-age=2", "private, no-cache"),
        ("private, max-age=\"5\"", "private, no-cache"),
        ("private=\"a\", max-age=1", "private, no-cache"),
        ("private, x=\", max-age=1, \"", "private, no-cache"),
        ("x=\"\\\", private, max-age=1, \"", "private, no-cache"),
        ("x=\"\\\", private, max-age=1", "private, no-cache"),
    ] {
        assert_eq!(control(None, (&Method::GET, 200, BEARER), &[choice]), kept, "{choice}");
    }
}

#[test]
fn posts_are_kept_with_an_age_and_a_location_only() {
    for method in [Method::POST, Method::PATCH] {
        let post = (&method, 200, NOTHING);
        assert_eq!(control(Some(&MINE), post, &["at /a"]), "private, max-age=60");
        assert_eq!(control(Some(&MINE), post, &[]), "no-store");
        assert_eq!(control(None, post, &["max-age=5", "at /a"]), "max-age=5");
        assert_eq!(control(None, post, &["max-age=5"]), "no-store");
        assert_eq!(control(None, post, &["public", "at /a"]), "no-store");
        assert_eq!(control(None, post, &["at /a"]), "");
        assert_eq!(control(None, (&method, 200, SESSION), &[]), "private, no-cache");
    }
}

#[test]
fn responses_to_other_methods_never_say_that_they_are_kept() {
    let purge = Method::from_bytes(b"PURGE").expect("a method");
    for method in [Method::PUT, Method::DELETE, Method::OPTIONS, purge] {
        let exchange = (&method, 200, NOTHING);
        assert_eq!(control(None, exchange, &["public, max-age=60", "at /a"]), "no-store");
        assert_eq!(control(None, exchange, &["no-store, x-own"]), "no-store, x-own");
        assert_eq!(control(None, exchange, &[]), "");
        assert_eq!(control(Some(&LISTS), exchange, &["at /a"]), "no-store");
    }
}

/// RFC 10008 2.7: a cache that leaves the content of the request out of its key must not see them.
#[test]
fn responses_to_queries_are_never_stored() {
    for facts in [NOTHING, SESSION, BEARER] {
        let exchange = (&Method::QUERY, 200, facts);
        for policy in [None, Some(&LISTS), Some(&MINE), Some(&VARIES)] {
            for written in [&[][..], &["public, max-age=60", "at /a"], &["no-cache"]] {
                assert_eq!(control(policy, exchange, written), "no-store");
            }
        }
    }
}

#[test]
fn vary_is_on_every_response_and_declares_no_more() {
    for status in [200, 304, 404, 500] {
        let headers = finished(Some(&VARIES), (&Method::GET, status, NOTHING), &[]);
        assert_eq!(headers.get(VARY).expect("one"), "accept, x-region");
        assert!(!headers.contains_key(CACHE_CONTROL));
    }
    assert_eq!(control(Some(&VARIES), (&Method::GET, 200, NOTHING), &["max-age=5"]), "max-age=5");
    let headers = finished(Some(&VARIES), (&Method::GET, 200, SESSION), &[]);
    let lines: Vec<_> = headers.get_all(VARY).iter().collect();
    assert_eq!(lines, ["accept, x-region, cookie"]);
}

#[test]
fn a_permission_of_one_side_alone_writes_no_directive() {
    const OPEN: CachePolicy = CachePolicy::public().build();
    assert_eq!(control(Some(&OPEN), (&Method::GET, 200, NOTHING), &["x-unknown"]), "");
}

/// A response that is cached for one account is not shown to the next user of the browser, and one
/// for an anonymous user not to a user who is logged in.
#[test]
fn reusable_responses_to_tokens_vary_by_authorization() {
    let absent = ResponseFacts { bearer_absent: true, ..NOTHING };
    for (policy, facts, written, varies) in [
        (None, BEARER, &[][..], false),
        (None, BEARER, &["no-store"], false),
        (None, BEARER, &["private, max-age=60"], true),
        (Some(&MINE), BEARER, &[], true),
        (Some(&LISTS), BEARER, &[], false),
        (None, absent, &[], true),
        (None, NOTHING, &["private, max-age=60"], false),
    ] {
        let headers = finished(policy, (&Method::GET, 200, facts), written);
        let vary = headers.get_all(VARY).iter().any(|line| line == "authorization");
        assert_eq!(vary, varies, "{headers:?}");
    }
}
