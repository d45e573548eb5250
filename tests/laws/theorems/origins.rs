//! What responses say about origins and credentials, for any request.

use http::{HeaderMap, HeaderValue};
use proptest::{prelude::*, sample::subsequence};

use super::{SHARING, decided_by, lines, met, shares_nothing, vary};
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

/// T5, no credentialed wildcard. Credentials are allowed to one named origin only, by the one
/// value that means it, and no list has `*` where they are; and there is always somebody whom they
/// are not allowed to: an origin of a domain that nobody names.
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
            // INVARIANT: no generated pattern is about this domain.
            let nobody = HeaderValue::from_static("https://nobody.invalid");
            request.headers.insert("origin", nobody);
            let headers = site.ask(&request).headers;
            prop_assert!(!headers.contains_key("access-control-allow-credentials"), "{headers:?}");
        }
        met(credentials.is_some())
    });
}

/// Fields that an origin could be taken from, and that say nothing about it.
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

/// T6, echo integrity. The origin that a response names is the one that asked, byte for byte, where
/// there is one alone and the policy grants it, whatever stands in other fields; `null` is never
/// named, and a policy for everybody names `*` to everybody. Credentials are allowed only beside
/// it.
#[test]
fn t06_the_named_origin_is_the_one_that_asked_and_is_granted() {
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
        // A preflight may be refused for its method too.
        if named.is_some() || !request.is_preflight() {
            prop_assert_eq!(&named, &due, "{:?}", response);
        }
        let credentials = response.headers.contains_key("access-control-allow-credentials");
        prop_assert!(!credentials || named.is_some(), "{:?}", response);
        met(due.is_some_and(|origin| origin != b"*"))
    });
}

/// T8, stability of `Vary`. Whether a response varies by Origin depends on its path, its method and
/// the policies alone: it is the same for every status, after a panic, with and without Origin, for
/// those who are granted something and those who are not, so nobody can fill a cache with a
/// response that does not say so. What the handler says about `Vary` stays, and nothing stands
/// there twice.
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
        met(listed)
    });
}

/// No field of CORS stands in a response twice, whatever the handler wrote.
#[test]
fn every_field_of_sharing_stands_there_once_at_the_most() {
    holds("once", 27, generate::exchange(), |(scenario, request)| {
        let site = Site::new(&scenario);
        let response = site.ask(&request);
        for name in SHARING {
            let lines = response.headers.get_all(name).iter().count();
            prop_assert!(lines < 2, "{}: {:?}", name, response);
        }
        met(is_forged(&scenario) && !site.calls().is_empty())
    });
}

/// Where no policy is, nothing is shared, whatever the handler wrote.
#[test]
fn nothing_is_shared_without_a_policy() {
    holds("without a policy", 24, generate::exchange(), |(scenario, request)| {
        let groups = scenario.groups.into_iter();
        let groups = groups.map(|group| Group { policy: None, ..group }).collect();
        let scenario = Scenario { groups, default: None, plan: scenario.plan };
        let site = Site::new(&scenario);
        let response = site.ask(&request);
        prop_assert!(shares_nothing(&response.headers), "{:?}", response);
        met(is_forged(&scenario) && !site.calls().is_empty())
    });
}

/// Whether the handler writes what only a policy should.
fn is_forged(scenario: &Scenario) -> bool {
    scenario.plan.headers.iter().any(|(name, _)| SHARING.contains(name))
}

/// Whom a list does not name gets no field of CORS at all, not even one that means nothing.
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
        met(refused && request.headers.contains_key("origin"))
    });
}
