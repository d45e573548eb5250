//! What responses say about origins and credentials, for any request.

use http::{HeaderMap, HeaderValue};
use proptest::{prelude::*, sample::subsequence};

use super::{SHARING, decided_by, lines, met_if, shares_nothing, vary};
use crate::{
    exchange::{Policy, combined, elements},
    generate,
    law::holds,
    oracle,
    scenario::{Ending, Group, Scenario, Site},
};

pub(super) fn is_any_origin(policy: &Policy) -> bool {
    policy.origins.iter().any(|origin| origin == "*")
}

pub(super) fn only_origin(headers: &HeaderMap) -> Option<Vec<u8>> {
    match &*lines(headers, "origin") {
        [origin] => Some(origin.clone()),
        _ => None,
    }
}

/// T5, no credentialed wildcard. Credentials are allowed only to a single named origin, by the
/// value `true`, and then no list contains `*`. There is always an origin that is not granted
/// credentials: one of a domain that nothing names.
#[test]
fn t05_credentials_are_never_for_everybody() {
    holds("T5", 5, generate::exchange(), |(scenario, mut request)| {
        let site = Site::new(&scenario);
        let headers = site.ask(&request).headers;
        let credentials = combined(&headers, "access-control-allow-credentials");
        if credentials.is_some() {
            prop_assert_eq!(credentials.as_deref(), Some(&b"true"[..]));
            let origin = combined(&headers, "access-control-allow-origin");
            prop_assert!(origin.is_some_and(|origin| origin != b"*"), "{:?}", headers);
            for name in SHARING {
                let star = elements(&headers, name).iter().any(|element| element == "*");
                prop_assert!(!star, "{}: {:?}", name, headers);
            }
            // INVARIANT: no generated pattern matches this domain.
            let nobody = HeaderValue::from_static("https://nobody.invalid");
            request.headers.insert("origin", nobody);
            let headers = site.ask(&request).headers;
            prop_assert!(!headers.contains_key("access-control-allow-credentials"), "{headers:?}");
        }
        met_if(credentials.is_some())
    });
}

/// Fields that look like a source of the origin but are not.
pub(super) const NOISE: &[(&str, &str)] = &[
    ("referer", "https://a.test/x"),
    ("host", "API.shop.example:443"),
    ("x-forwarded-host", "a.test"),
    ("forwarded", "host=a.test;proto=https"),
    ("x-origin", "https://a.test"),
    ("cookie", "__Host-sid=AAAA; c=1"),
    ("authorization", "Bearer x"),
    ("sec-fetch-site", "same-origin"),
    ("x-csrf-token", "A"),
];

/// T6, echo integrity. The origin that a response names is the one `Origin` of the request, byte
/// for byte, if the policy grants it, whatever other fields contain. `null` is never named, and a
/// policy for everyone names `*`. Credentials are allowed only together with that origin.
#[test]
fn t06_the_allowed_origin_is_the_granted_origin_of_the_request() {
    let cases = (generate::exchange(), subsequence(NOISE, 0..4));
    holds("T6", 15, cases, |((scenario, mut request), noise)| {
        for (name, value) in noise {
            request.headers.insert(name, HeaderValue::from_static(value));
        }
        let response = Site::new(&scenario).ask(&request);
        let named = combined(&response.headers, "access-control-allow-origin");
        prop_assert!(named.as_deref() != Some(b"null"), "{:?}", response);
        let policy = scenario.policy(&request.path, &decided_by(&request));
        let due = policy.and_then(|policy| {
            if is_any_origin(policy) {
                return Some(b"*".to_vec());
            }
            only_origin(&request.headers).filter(|origin| oracle::grants_origin(policy, origin))
        });
        // A preflight can also be refused for its method.
        if named.is_some() || !request.is_preflight() {
            prop_assert_eq!(&named, &due, "{:?}", response);
        }
        let credentials = response.headers.contains_key("access-control-allow-credentials");
        prop_assert!(!credentials || named.is_some(), "{:?}", response);
        met_if(due.is_some_and(|origin| origin != b"*"))
    });
}

/// T8, stability of `Vary`. Whether a response varies by Origin depends only on its path, its
/// method and the policies: it is the same for every status, after a panic, with and without
/// Origin, for granted and other origins. So no response without that `Vary` can poison a cache.
/// The handler's own `Vary` names are kept, and none is repeated.
#[test]
fn t08_vary_depends_on_the_policy_alone() {
    holds("T8", 65, generate::exchange(), |(scenario, request)| {
        let site = Site::new(&scenario);
        let response = site.ask(&request);
        let is_called = !site.calls().is_empty();
        let vary = vary(&response.headers);
        let varies = vary.iter().any(|token| token == "origin" || token == "*");
        let policy = scenario.policy(&request.path, &decided_by(&request));
        let listed = policy.is_some_and(|policy| !is_any_origin(policy));
        let written = scenario.plan.headers.iter().filter(|(name, _)| *name == "vary");
        let written: Vec<String> = written
            .flat_map(|(_, value)| value.split(','))
            .map(|token| token.trim().to_lowercase())
            .collect();
        let says_so = written.iter().any(|token| token == "origin" || token == "*");
        prop_assert!(varies || !listed, "{:?}", response);
        prop_assert!(!varies || listed || (is_called && says_so), "{:?}", response);
        if is_called && matches!(scenario.plan.ending, Ending::Whole | Ending::Stream) {
            for token in &written {
                prop_assert!(vary.contains(token), "{}: {:?}", token, response);
            }
        }
        let mut once = vary.clone();
        once.sort();
        once.dedup();
        prop_assert_eq!(once.len(), vary.len(), "a token twice: {:?}", response);
        met_if(listed)
    });
}

/// No CORS field is repeated in a response, whatever the handler wrote.
#[test]
fn every_cors_field_occurs_at_most_once() {
    holds("once", 27, generate::exchange(), |(scenario, request)| {
        let site = Site::new(&scenario);
        let response = site.ask(&request);
        for name in SHARING {
            let lines = response.headers.get_all(name).iter().count();
            prop_assert!(lines < 2, "{}: {:?}", name, response);
        }
        met_if(is_forged(&scenario) && !site.calls().is_empty())
    });
}

/// Without a policy, nothing is shared, whatever the handler wrote.
#[test]
fn nothing_is_shared_without_a_policy() {
    holds("without a policy", 24, generate::exchange(), |(scenario, request)| {
        let groups = scenario.groups.into_iter();
        let groups = groups.map(|group| Group { policy: None, ..group }).collect();
        let scenario = Scenario { groups, default: None, plan: scenario.plan };
        let site = Site::new(&scenario);
        let response = site.ask(&request);
        prop_assert!(shares_nothing(&response.headers), "{:?}", response);
        met_if(is_forged(&scenario) && !site.calls().is_empty())
    });
}

/// Whether the handler writes CORS fields itself.
fn is_forged(scenario: &Scenario) -> bool {
    scenario.plan.headers.iter().any(|(name, _)| SHARING.contains(name))
}

/// An origin that a list does not name gets no CORS field at all, not even a meaningless one.
#[test]
fn a_refused_origin_gets_no_field_of_sharing() {
    holds("refused", 40, generate::exchange(), |(scenario, request)| {
        let refused = scenario.policy(&request.path, &decided_by(&request)).is_some_and(|policy| {
            let origin = only_origin(&request.headers);
            !is_any_origin(policy)
                && origin.is_none_or(|origin| !oracle::grants_origin(policy, &origin))
        });
        let response = Site::new(&scenario).ask(&request);
        prop_assert!(!refused || shares_nothing(&response.headers), "{:?}", response);
        met_if(refused && request.headers.contains_key("origin"))
    });
}
