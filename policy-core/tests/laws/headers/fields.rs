//! Which responses get which fields.

use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE};
use policy_core::headers::{HeadersPolicy, Nonce, SecurityHeaders};
use proptest::{collection::vec, option, prelude::*, sample::select};

use policy_core_tests::law::{Precondition, holds};

const NAMES: [&str; 10] = [
    "content-security-policy",
    "x-frame-options",
    "referrer-policy",
    "permissions-policy",
    "cross-origin-opener-policy",
    "cross-origin-embedder-policy",
    "cross-origin-resource-policy",
    "strict-transport-security",
    "x-content-type-options",
    "content-type",
];

fn policies() -> impl Strategy<Value = HeadersPolicy> {
    let stated = HeadersPolicy::builder()
        .coep("require-corp")
        .corp("same-origin")
        .hsts(60)
        .every_response()
        .try_build();
    select(vec![
        HeadersPolicy::DEFAULT,
        HeadersPolicy::API,
        HeadersPolicy::PAGES,
        stated.unwrap_or(HeadersPolicy::DEFAULT),
    ])
}

/// Fields of a handler are kept, except that `nosniff` is always set, and leave out no other; each
/// field occurs once; and applying the policy twice changes nothing.
#[test]
fn fields_of_handlers_are_kept() {
    let own = vec((select(NAMES.to_vec()), "[ -~]{0,12}"), 0..6);
    let nonce = option::of(any::<[u8; 16]>().prop_map(Nonce::from_bytes));
    let cases = (policies(), any::<bool>(), own, nonce);
    holds("fields of handlers", 82, cases, |(policy, is_secure, own, nonce)| {
        let mut headers = HeaderMap::new();
        for (name, value) in own {
            headers.insert(name, HeaderValue::try_from(value).unwrap());
        }
        let before = headers.clone();
        let fields = SecurityHeaders::new(&policy);
        let apply = |headers: &mut HeaderMap| {
            fields.apply(headers, nonce.as_ref());
            if is_secure {
                fields.apply_secure(headers);
            }
        };
        apply(&mut headers);
        for (name, value) in &before {
            if name != "x-content-type-options" {
                prop_assert_eq!(&headers[name], value);
            }
        }
        prop_assert_eq!(&headers["x-content-type-options"], "nosniff");
        prop_assert_eq!(headers.len(), headers.keys_len());
        let content_type = before.get("content-type").map(|value| (CONTENT_TYPE, value.clone()));
        let mut alone = HeaderMap::from_iter(content_type);
        apply(&mut alone);
        prop_assert!(alone.keys().all(|name| headers.contains_key(name)));
        prop_assert!(is_secure || !added(&before, &headers, "strict-transport-security"));
        let once = headers.clone();
        apply(&mut headers);
        prop_assert_eq!(headers, once);
        Ok(Precondition::met_if(!before.is_empty()))
    });
}

fn added(before: &HeaderMap, after: &HeaderMap, name: &str) -> bool {
    !before.contains_key(name) && after.contains_key(name)
}

/// A 304, which has no `Content-Type`, never has a field that the 200 lacks, or another value of
/// one: a cache replaces the stored fields by those of the 304 (RFC 9111 3.2).
#[test]
fn a_304_has_no_field_that_the_200_has_not() {
    let content_types = select(vec!["text/html", "image/svg+xml", "application/json", "a/xml"]);
    let nonce = || any::<[u8; 16]>().prop_map(Nonce::from_bytes);
    let cases = (policies(), content_types, nonce(), nonce());
    holds("304", 35, cases, |(policy, content_type, first, second)| {
        let fields = SecurityHeaders::new(&policy);
        let (mut ok, mut not_modified) = (HeaderMap::new(), HeaderMap::new());
        ok.insert("content-type", HeaderValue::from_static(content_type));
        fields.apply(&mut ok, Some(&first));
        fields.apply(&mut not_modified, Some(&second));
        for (name, value) in &not_modified {
            prop_assert_eq!(ok.get(name), Some(value));
        }
        let is_more = |name: &HeaderName| !not_modified.contains_key(name);
        Ok(Precondition::met_if(ok.keys().filter(|name| is_more(name)).count() > 1))
    });
}
