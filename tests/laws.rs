//! The laws of cross-origin sharing, on generated policies, apps, requests and pages; in `auth`
//! those of sessions, tokens, anti-forgery and caches, and in `http` those of HTTP itself.
//!
//! Each law is a test that is named as a statement, with the law in words above it. A law also
//! fails if too few of its cases were interesting. `PROPTEST_CASES` sets their number.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]
#![expect(clippy::print_stdout, reason = "laws say how often they were put to the test")]

#[path = "laws/auth/mod.rs"]
mod auth;
#[path = "support/browser.rs"]
mod browser;
#[path = "support/config.rs"]
mod config;
#[path = "support/exchange.rs"]
mod exchange;
#[path = "support/fetch.rs"]
mod fetch;
#[path = "support/generate.rs"]
mod generate;
#[path = "laws/http/mod.rs"]
mod http_laws;
#[path = "support/law.rs"]
mod law;
#[path = "support/oracle.rs"]
mod oracle;
#[path = "laws/origins.rs"]
mod origins;
#[path = "laws/policies.rs"]
mod policies;
#[path = "support/server.rs"]
mod server;
#[path = "laws/shared_cache.rs"]
mod shared_cache;

use http::{HeaderMap, HeaderValue};
use policy_core::testing::any_pattern;
use proptest::{collection::vec, prelude::*};

use browser::Outcome;
use exchange::{Answer, Policy, ROUTE, Request, World, combined, elements};
use law::{Judged, Premise, holds};
use server::answer;

/// The response headers of CORS.
const SHARING: [&str; 6] = [
    "access-control-allow-origin",
    "access-control-allow-credentials",
    "access-control-allow-methods",
    "access-control-allow-headers",
    "access-control-expose-headers",
    "access-control-max-age",
];

const ASKED_METHOD: &str = "access-control-request-method";

/// I1. Credentials are allowed to one named origin only: never without an origin, never to `*`.
#[test]
fn i1_credentials_are_allowed_to_a_named_origin_only() {
    holds("I1", 4, generate::exchange(), |(world, request)| {
        let headers = answer(&world, &request).headers;
        let credentials = combined(&headers, "access-control-allow-credentials");
        let origin = combined(&headers, "access-control-allow-origin");
        if credentials.is_some() {
            prop_assert_eq!(credentials.as_deref(), Some(&b"true"[..]));
            prop_assert!(origin.is_some_and(|origin| origin != b"*"), "{:?}", headers);
        }
        met(headers.contains_key("access-control-allow-credentials"))
    });
}

/// I2. Where credentials are allowed, no list has `*`, which would be a literal name there.
#[test]
fn i2_no_list_has_a_star_where_credentials_are_allowed() {
    holds("I2", 4, generate::exchange(), |(world, request)| {
        let headers = answer(&world, &request).headers;
        let credentials = headers.contains_key("access-control-allow-credentials");
        for name in SHARING {
            let star = elements(&headers, name).iter().any(|element| element == "*");
            prop_assert!(!(credentials && star), "{}: {:?}", name, headers);
        }
        met(credentials)
    });
}

/// I3. An answer that names an origin, or would name one to somebody else, varies by Origin; and
/// what the handler says about `Vary` stays.
#[test]
fn i3_answers_of_a_listed_policy_vary_by_origin() {
    holds("I3", 30, generate::exchange(), |(world, request)| {
        let answer = answer(&world, &request);
        let vary = vary(&answer);
        let varies = vary.iter().any(|token| token == "origin" || token == "*");
        let origin = combined(&answer.headers, "access-control-allow-origin");
        prop_assert!(varies || origin.is_none_or(|origin| origin == b"*"), "{:?}", answer);
        let listed = world.policy_at(&request.path).is_some_and(|policy| !is_any_origin(policy));
        prop_assert!(varies || !listed, "{:?}", answer);
        if answer.handler_calls > 0 && !world.app.panic {
            let written = world.app.headers.iter().filter(|(name, _)| name == "vary");
            for token in written.flat_map(|(_, value)| value.split(',')) {
                prop_assert!(vary.contains(&token.trim().to_lowercase()), "{:?}", answer);
            }
        }
        let mut once = vary.clone();
        once.sort();
        once.dedup();
        prop_assert_eq!(once.len(), vary.len(), "a token twice: {:?}", answer);
        met(listed)
    });
}

/// I4. The origin that an answer names is the one that asked, byte for byte, and the policy
/// grants it; `null` is never named. A policy for everybody names `*` to everybody.
#[test]
fn i4_the_named_origin_is_the_one_that_asked_and_is_granted() {
    holds("I4", 15, generate::exchange(), |(world, request)| {
        let answer = answer(&world, &request);
        let named = combined(&answer.headers, "access-control-allow-origin");
        prop_assert!(named.as_deref() != Some(b"null"), "{:?}", answer);
        let due = world.policy_at(&request.path).and_then(|policy| {
            if is_any_origin(policy) {
                return Some(b"*".to_vec());
            }
            only_origin(&request.headers).filter(|origin| oracle::grants_origin(policy, origin))
        });
        // A preflight may be refused for its method too.
        if named.is_some() || !request.is_preflight() {
            prop_assert_eq!(&named, &due, "{:?}", answer);
        }
        met(due.is_some_and(|origin| origin != b"*"))
    });
}

/// I5. No field of CORS stands in an answer twice, whatever the handler wrote.
#[test]
fn i5_every_field_of_sharing_stands_there_once_at_the_most() {
    holds("I5", 15, generate::exchange(), |(world, request)| {
        let answer = answer(&world, &request);
        for name in SHARING {
            let lines = answer.headers.get_all(name).iter().count();
            prop_assert!(lines < 2, "{}: {:?}", name, answer);
        }
        let forged = world.app.headers.iter().any(|(name, _)| SHARING.contains(&&**name));
        met(forged && answer.handler_calls > 0)
    });
}

/// I6. `Vary` is sound: two requests that agree on every field that it names get the same fields
/// of CORS. Of OPTIONS, which no cache keeps (RFC 9110 9.3.7), preflights that ask well are
/// compared with each other, and those that ask for nothing with each other.
#[test]
fn i6_what_vary_does_not_name_does_not_change_what_is_shared() {
    holds("I6", 20, generate::exchange_twice(), |(world, request, altered)| {
        let (one, two) = (answer(&world, &request), answer(&world, &altered));
        let vary = vary(&one);
        let agree = |name: &str| lines(&request.headers, name) == lines(&altered.headers, name);
        let compared = vary.iter().all(|name| name != "*" && agree(name))
            && (request.method != http::Method::OPTIONS || asks_alike(&request, &altered));
        if compared {
            for name in SHARING {
                prop_assert_eq!(
                    lines(&one.headers, name),
                    lines(&two.headers, name),
                    "{}: {:?} and {:?}",
                    name,
                    one,
                    two
                );
            }
        }
        met(compared && request.headers != altered.headers)
    });
}

/// I7. A page may read an answer exactly if the policy grants it to the page's fetch; and it sees
/// exactly the headers that the policy exposes, and the safelisted ones.
#[test]
fn i7_a_page_reads_exactly_what_the_policy_grants() {
    holds("I7", 5, generate::visit(), |(world, script)| {
        let mut last = None;
        let outcome = script.fetch(|request| {
            let answer = answer(&world, request);
            last = Some(answer.clone());
            answer
        });
        if outcome == Outcome::TypeError {
            return met(false);
        }
        let policy = world.policy_at(&script.path);
        let granted = policy.is_some_and(|policy| {
            let wanted = oracle::Wanted {
                origin: &script.origin,
                includes_credentials: script.includes_credentials(),
                method: &script.sent_method(),
                unsafe_names: &script.unsafe_names(),
                is_preflighted: script.is_preflighted(),
            };
            // A preflight of an unknown path is answered 404, which no browser takes for a yes.
            (script.path == ROUTE || !wanted.is_preflighted)
                && oracle::grants(policy, &world.app, &wanted)
        });
        let readable = matches!(outcome, Outcome::Readable { .. });
        prop_assert_eq!(readable, granted, "{:?}: {:?}", outcome, last);
        if let (Outcome::Readable { visible, .. }, Some(last), Some(policy)) =
            (&outcome, &last, policy)
        {
            let due = oracle::visible(policy, &last.headers);
            prop_assert_eq!(visible, &due, "{:?}", last);
        }
        met(readable && script.is_preflighted())
    });
}

/// I8. A preflight never calls the handler, and its answer sets no cookie.
#[test]
fn i8_a_preflight_never_calls_the_handler() {
    holds("I8", 15, generate::exchange(), |(world, request)| {
        let answer = answer(&world, &request);
        if request.is_preflight() {
            prop_assert_eq!(answer.handler_calls, 0);
            prop_assert!(!answer.headers.contains_key("set-cookie"), "{:?}", answer);
        }
        met(request.is_preflight() && request.path == ROUTE)
    });
}

/// I9. The work is bounded: an answer is the same, byte for byte, whatever
/// Access-Control-Request-Headers says, also if it is 64 KiB of commas.
#[test]
fn i9_the_asked_headers_do_not_change_the_answer() {
    let asked = prop_oneof![
        Just(vec![]),
        Just(vec![",".repeat(64 * 1024)]),
        Just(vec!["x-a".to_owned(); 100]),
        vec("[ -~]{0,40}", 1..3),
    ];
    holds("I9", 15, (generate::exchange(), asked), |((world, request), asked)| {
        let mut other = request.clone();
        other.headers.remove("access-control-request-headers");
        for line in &asked {
            let line = HeaderValue::from_str(line).expect("a header value");
            other.headers.append("access-control-request-headers", line);
        }
        prop_assert_eq!(answer(&world, &request), answer(&world, &other));
        met(request.is_preflight() && request.path == ROUTE)
    });
}

/// I10. Policies are monotone: one more origin in a list takes nothing away from any page, and
/// gives something only to pages of that origin.
#[test]
fn i10_one_more_origin_only_adds() {
    let cases = (generate::app(), generate::listed_policy(), any_pattern());
    let cases = (cases, generate::script_seed(), any::<bool>());
    holds("I10", 4, cases, |((app, narrow, more), seed, near_more)| {
        let with = |origins| World {
            app: app.clone(),
            route: Some(Policy {
                origins,
                allow_insecure: true,
                allow_public_suffix: true,
                ..narrow.clone()
            }),
            default: None,
        };
        let wide = with(narrow.origins.iter().cloned().chain([more.clone()]).collect());
        let script = seed.script(&if near_more { with(vec![more.clone()]) } else { wide.clone() });
        let narrow = with(narrow.origins.clone());
        let reads = |world: &World| script.fetch(|request| answer(world, request));
        let (before, after) = (reads(&narrow), reads(&wide));
        let readable = |outcome: &Outcome| matches!(outcome, Outcome::Readable { .. });
        if readable(&before) || !oracle::matches(&more, script.origin.as_bytes()) {
            prop_assert_eq!(&before, &after);
        }
        met(readable(&after) && !readable(&before))
    });
}

/// I11. Where no policy is, nothing is shared, whatever the handler wrote.
#[test]
fn i11_nothing_is_shared_without_a_policy() {
    holds("I11", 15, generate::exchange(), |(world, request)| {
        let world = World { route: None, default: None, ..world };
        let answer = answer(&world, &request);
        prop_assert!(shares_nothing(&answer), "{:?}", answer);
        let forged = world.app.headers.iter().any(|(name, _)| SHARING.contains(&&**name));
        met(forged && answer.handler_calls > 0)
    });
}

/// Whom a list does not name gets no field of CORS at all, not even one that means nothing.
#[test]
fn a_refused_origin_gets_no_field_of_sharing() {
    holds("refused", 15, generate::exchange(), |(world, request)| {
        let refused = world.policy_at(&request.path).is_some_and(|policy| {
            let origin = only_origin(&request.headers);
            !is_any_origin(policy)
                && origin.is_none_or(|origin| !oracle::grants_origin(policy, &origin))
        });
        let answer = answer(&world, &request);
        prop_assert!(!refused || shares_nothing(&answer), "{:?}", answer);
        met(refused && request.headers.contains_key("origin"))
    });
}

fn met(premise: bool) -> Judged {
    Ok(Premise::met_if(premise))
}

fn is_any_origin(policy: &Policy) -> bool {
    policy.origins.iter().any(|origin| origin == "*")
}

fn shares_nothing(answer: &Answer) -> bool {
    !answer.headers.keys().any(|name| name.as_str().starts_with("access-control-"))
}

fn only_origin(headers: &HeaderMap) -> Option<Vec<u8>> {
    match &*lines(headers, "origin") {
        [origin] => Some(origin.clone()),
        _ => None,
    }
}

fn lines(headers: &HeaderMap, name: &str) -> Vec<Vec<u8>> {
    headers.get_all(name).iter().map(|line| line.as_bytes().to_vec()).collect()
}

fn vary(answer: &Answer) -> Vec<String> {
    elements(&answer.headers, "vary").iter().map(|token| token.to_lowercase()).collect()
}

/// Whether two OPTIONS requests are of one kind, see I6.
fn asks_alike(one: &Request, two: &Request) -> bool {
    let asks_well = |request: &Request| match &*lines(&request.headers, ASKED_METHOD) {
        [method] => fetch::is_token(&String::from_utf8_lossy(method)),
        _ => false,
    };
    let same = lines(&one.headers, ASKED_METHOD) == lines(&two.headers, ASKED_METHOD);
    one.is_preflight() == two.is_preflight() && (same || (asks_well(one) && asks_well(two)))
}
