//! What a preflight asks, and what may be sent after it.

use std::time::Duration;

use http::{HeaderValue, Method};
use policy_browser::{Credentials, Event, Fetch, State, step};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
};

use super::{
    ASKED_METHOD, Hop, decided_by, is_ours, lines, load, met_if,
    origins::{NOISE, is_any_origin},
    reads::{START, first_load},
};
use crate::{
    exchange::elements,
    fetch::is_token,
    generate,
    law::holds,
    oracle,
    scenario::{OWN, ROUTE, Site, is_routed},
};

const ASKED_NAMES: &str = "access-control-request-headers";

/// T3, preflight gate. In a browser with an empty preflight cache, a request that needs a preflight
/// and was not granted reaches no handler.
#[test]
fn t03_requests_without_a_granted_preflight_reach_no_handler() {
    holds("T3", 41, generate::visit(), |(scenario, visitor)| {
        let (site, page) = (Site::new(&scenario), visitor.page(&scenario));
        let visit = first_load(&site, &visitor, &page);
        let (profile, fetch) = (&visitor.profile, &visitor.fetch);
        let had_to_ask = |hop: &&Hop| hop.calls > 0 && hop.needs_preflight(profile, fetch);
        for hop in visit.hops.iter().filter(had_to_ask) {
            let is_granted = hop.as_asked(profile).is_granted(&scenario, profile, &page, fetch);
            prop_assert!(is_granted, "{:?} {:?}", page.origin, visit);
        }
        // There was a preflight, and it was refused.
        let refused = visit.hops.last().is_some_and(|hop| hop.sent.is_preflight);
        met_if(refused && visit.hops.iter().all(|hop| hop.calls == 0))
    });
}

/// T9, purity of preflights. A preflight calls no handler, its response sets no cookie and is the
/// same, byte for byte, whatever credentials, CSRF tokens and conditions it carries and whatever
/// was sent before.
#[test]
fn t09_a_preflight_depends_only_on_its_question() {
    let cases = (generate::exchange(), subsequence(NOISE, 1..6), generate::request_seed());
    holds("T9", 29, cases, |((scenario, request), noise, before)| {
        if !request.is_preflight() {
            return met_if(false);
        }
        let site = Site::new(&scenario);
        let response = site.ask(&request);
        prop_assert_eq!(&site.calls()[..], &[]);
        prop_assert!(!response.headers.contains_key("set-cookie"), "{:?}", response);
        site.ask(&before.request(&scenario));
        site.calls();
        let mut noisy = request.clone();
        for (name, value) in noise {
            noisy.headers.insert(name, HeaderValue::from_static(value));
        }
        for (name, value) in [("if-none-match", "*"), ("range", "bytes=0-1"), ("accept", "*/*")] {
            noisy.headers.insert(name, HeaderValue::from_static(value));
        }
        prop_assert_eq!(&response, &site.ask(&noisy));
        prop_assert_eq!(&site.calls()[..], &[]);
        met_if(is_routed(&request.path))
    });
}

/// T10, agreement of preflight and request. A preflight response names the origin and allows
/// credentials exactly if the response to the requested method does. Where a policy does not list
/// its methods itself, every method that it allows is served there under the same declaration, or is
/// the requested one and reaches no handler: the page may read the 404 or 405.
#[test]
fn t10_a_preflight_predicts_the_response_to_the_request() {
    holds("T10", 9, generate::exchange(), |(scenario, request)| {
        let methods = lines(&request.headers, ASKED_METHOD);
        let ([requested], true) = (&*methods, request.is_preflight() && is_routed(&request.path))
        else {
            return met_if(false);
        };
        let is_method = is_token(&String::from_utf8_lossy(requested));
        let (Ok(method), true) = (Method::from_bytes(requested), is_method) else {
            return met_if(false);
        };
        let site = Site::new(&scenario);
        let preflight = site.ask(&request);
        let mut actual = request.clone();
        actual.headers.remove(ASKED_METHOD);
        actual.headers.remove(ASKED_NAMES);
        actual.method = method.clone();
        let response = site.ask(&actual);
        let is_handled = !site.calls().is_empty();
        for name in ["access-control-allow-origin", "access-control-allow-credentials"] {
            prop_assert_eq!(
                lines(&preflight.headers, name),
                lines(&response.headers, name),
                "{}: {:?} and {:?}",
                name,
                preflight,
                response
            );
        }
        let is_granted = preflight.headers.contains_key("access-control-allow-origin");
        prop_assert_eq!(is_granted, preflight.status == 204, "{:?}", preflight);
        if let Some(policy) = scenario.policy(&request.path, method.as_str())
            && policy.methods.is_none()
        {
            let served = scenario.served_alike(policy);
            for allowed in elements(&preflight.headers, "access-control-allow-methods") {
                let is_served = oracle::allows_method(policy, &served, &allowed);
                let is_refused = allowed == method.as_str() && !is_handled;
                prop_assert!(is_served || is_refused, "{}: {:?}", allowed, preflight);
            }
        }
        met_if(is_granted)
    });
}

/// T11, closure of the preflight cache. After any sequence of loads, a request that a browser sends
/// without another preflight, and that reaches a handler that may change something, is granted by
/// the policy of its method: to its origin, in its credentials mode, with this method and all of
/// its headers. (A browser caches methods and headers separately, for all methods of a URL.)
#[test]
fn t11_requests_sent_without_a_preflight_were_granted() {
    let wait = prop_oneof![4 => Just(0_u64), 3 => select(&[1, 4, 6, 599, 601, 7201][..])];
    let loads = vec((asking_fetch(), wait), 2..7);
    // With one policy for all methods, and with several.
    let cases = (generate::scenario(), any::<bool>(), generate::visitor(), loads);
    holds("T11", 3, cases, |(mut scenario, is_one, visitor, mut loads)| {
        // Mostly repeats earlier requests.
        loads.extend_from_within(..2);
        if is_one {
            scenario.groups.truncate(1);
            scenario.groups[0].methods = vec!["GET", "POST", "PUT", "DELETE", "PATCH"];
        }
        let (site, page) = (Site::new(&scenario), visitor.page(&scenario));
        // The standard caches the star itself (Fetch, header-name cache entry match).
        let mut profile = visitor.profile;
        profile.star_allows_authorization = true;
        let mut state = State::new(profile, START);
        let mut was_remembered = false;
        for (fetch, wait) in loads {
            state = step(state, Event::Elapse(Duration::from_secs(wait))).0;
            let (next, visit) = load(&site, state, &page, fetch.clone());
            state = next;
            for hop in visit.hops.iter().filter(|hop| is_ours(&hop.sent)) {
                let is_safe =
                    ["GET", "HEAD", "QUERY", "OPTIONS"].contains(&hop.sent.method.as_str());
                if is_safe || hop.was_asked || !hop.needs_preflight(&profile, &fetch) {
                    continue;
                }
                was_remembered = true;
                let preflight = hop.as_asked(&profile);
                let is_granted = preflight.is_granted(&scenario, &profile, &page, &fetch);
                prop_assert!(is_granted || hop.calls == 0, "{:?}: {:?}", page.origin, hop);
            }
        }
        met_if(was_remembered)
    });
}

/// A fetch by a script that mostly needs a preflight.
pub(super) fn asking_fetch() -> impl Strategy<Value = Fetch> {
    let method = select(&["PUT", "DELETE", "POST", "PATCH", "PURGE", "GET"][..]);
    let headers = &[
        ("x-a", "1"),
        ("X-B", "2"),
        ("content-type", "application/json"),
        ("authorization", "Bearer x"),
    ];
    let credentials = select(&[Credentials::SameOrigin, Credentials::Include][..]);
    (method, subsequence(&headers[..], 0..3), credentials).prop_map(
        |(method, headers, credentials)| {
            let fetch = Fetch::new(method, format!("{OWN}{ROUTE}")).credentials(credentials);
            headers.into_iter().fold(fetch, |fetch, (name, value)| fetch.header(name, value))
        },
    )
}

/// T12, classification. OPTIONS with `Origin` and `Access-Control-Request-Method` is a preflight
/// and reaches no handler; it is refused if either is repeated. Every other OPTIONS reaches its
/// handler or, without one, lists the methods that exist.
#[test]
fn t12_only_a_preflight_is_answered_as_one() {
    holds("T12", 16, generate::exchange(), |(scenario, mut request)| {
        request.method = Method::OPTIONS;
        let site = Site::new(&scenario);
        let response = site.ask(&request);
        let calls = site.calls().len();
        let (origins, methods) =
            (lines(&request.headers, "origin").len(), lines(&request.headers, ASKED_METHOD).len());
        let is_served = is_routed(&request.path) && scenario.serving("OPTIONS").is_some();
        match (origins, methods) {
            (0, _) | (_, 0) if is_served => prop_assert_eq!(calls, 1, "{:?}", response),
            (0, _) | (_, 0) => {
                prop_assert_eq!(calls, 0, "{:?}", response);
                let says = response.headers.contains_key("allow");
                prop_assert!(says || !is_routed(&request.path), "{:?}", response);
            }
            _ => {
                prop_assert_eq!(calls, 0, "{:?}", response);
                let is_any = scenario
                    .policy(&request.path, &decided_by(&request))
                    .is_some_and(is_any_origin);
                let is_ambiguous = methods > 1 || (origins > 1 && !is_any);
                prop_assert!(!is_ambiguous || response.status >= 400, "{:?}", response);
            }
        }
        met_if(is_served && (origins == 0 || methods == 0))
    });
}

/// T28, resource bound. The response to a preflight is the same, byte for byte, whatever
/// Access-Control-Request-Headers contains, even 64 KiB of commas. Its length depends on the lists
/// of the policies, and no work is done for each requested name.
#[test]
fn t28_the_requested_headers_do_not_change_the_response() {
    let names = prop_oneof![
        Just(vec![]),
        Just(vec![",".repeat(64 * 1024)]),
        Just(vec!["x-a".to_owned(); 100]),
        vec("[ -~]{0,40}", 1..3),
    ];
    holds("T28", 29, (generate::exchange(), names), |((scenario, request), names)| {
        let mut other = request.clone();
        other.headers.remove(ASKED_NAMES);
        for line in &names {
            let line = HeaderValue::from_str(line).expect("a header value");
            other.headers.append(ASKED_NAMES, line);
        }
        let site = Site::new(&scenario);
        let response = site.ask(&request);
        prop_assert_eq!(&response, &site.ask(&other));
        let is_preflight = request.is_preflight();
        if is_preflight {
            let lists = scenario.policies().flat_map(|policy| {
                policy.headers.iter().chain(policy.methods.iter().flatten()).chain(&policy.expose)
            });
            let listed = 1000 + lists.map(|name| name.len() + 1).sum::<usize>();
            let len: usize = response
                .headers
                .iter()
                .map(|(name, value)| name.as_str().len() + value.len())
                .sum();
            prop_assert!(len + response.body.len() < listed, "{:?}", response);
        }
        met_if(is_preflight && is_routed(&request.path))
    });
}
