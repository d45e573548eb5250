//! Which policies are valid, and lists of origins that change while the app runs.

use http::HeaderValue;
use policy_core::{
    cors::{Cors, CorsPolicy, OriginDecision, OriginLists, SharedOrigins},
    head::Single,
    testing::{any_near_origin, any_pattern},
};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{Select, select},
};

use crate::{
    exchange::Policy,
    generate::policy,
    law::{Precondition, holds},
    oracle,
};

/// A policy can be built exactly if it breaks no rule.
#[test]
fn a_policy_is_accepted_exactly_if_it_is_valid() {
    let cases = prop_oneof![3 => unchecked_policy(), 1 => policy()];
    holds("validity", 41, cases, |policy| {
        let accepted = Cors::from_config("the case", &policy.config()).map(|_| ());
        prop_assert_eq!(accepted.is_ok(), oracle::is_valid(&policy), "{:?}", accepted);
        Ok(Precondition::met_if(accepted.is_err()))
    });
}

/// T13, replacement. A run-time list is replaced as a whole or not at all: after a list that is
/// malformed or outside of the bound, the old list applies; after a valid one, the new list.
#[test]
fn t13_a_list_is_replaced_whole_or_not_at_all() {
    const BOUND: &[&str] = &["https://*.a.b", "https://a.test:*", "http://localhost:*"];
    const POLICY: CorsPolicy =
        CorsPolicy::origins_at_run_time("list").within(BOUND).credentials().build();
    let inside = select(vec![
        "https://a.test",
        "https://b.a.b",
        "https://*.b.a.b",
        "https://x-1.a.b",
        "https://a.test:*",
        "https://a.test:8443",
        "http://localhost:1",
    ]);
    let outside = prop_oneof![
        4 => any_pattern(),
        1 => select(vec!["*", "null", "https://a.b", "https://b.a.b/"])
            .prop_map(str::to_owned),
    ];
    let entry = prop_oneof![9 => inside.prop_map(str::to_owned), 1 => outside];
    let lists = vec(vec(entry, 0..4), 1..5);
    let probes = vec(any_near_origin(), 8);
    holds("T13, replacement", 16, (lists, probes), |(lists, probes)| {
        let shared = SharedOrigins::new();
        let mut named = OriginLists::new();
        named.insert("list", shared.clone());
        let cors = Cors::new("the case", &POLICY, &named).expect("a policy");
        let mut current: &[String] = &[];
        let mut refused = false;
        for list in &lists {
            let inside = list.iter().all(|entry| {
                let bounded = BOUND.iter().any(|bound| oracle::covers(bound, entry));
                oracle::is_pattern(entry) && bounded
            });
            prop_assert_eq!(shared.replace(list).is_ok(), inside, "{:?}", list);
            if inside {
                current = list;
            }
            refused |= !inside;
            let known: Vec<&String> = lists.iter().flatten().collect();
            for near in &probes {
                let origin = HeaderValue::from_bytes(&near.value_for(&known));
                let origin = origin.expect("a header value");
                let due = current.iter().any(|entry| oracle::matches(entry, origin.as_bytes()));
                let granted =
                    matches!(cors.decide_origin(Single::One(&origin)), OriginDecision::Origin(_));
                prop_assert_eq!(granted, due, "{:?} under {:?}", origin, current);
            }
        }
        Ok(Precondition::met_if(refused && !current.is_empty()))
    });
}

fn words(list: &'static str) -> Vec<&'static str> {
    list.split_whitespace().collect()
}

/// A name as it is written, in lower case, or in upper case.
fn in_any_case(name: Select<&'static str>) -> impl Strategy<Value = String> {
    (name, 0..3_u8).prop_map(|(name, case)| match case {
        0 => name.to_owned(),
        1 => name.to_lowercase(),
        _ => name.to_uppercase(),
    })
}

/// A policy with arbitrary values, valid or not.
fn unchecked_policy() -> impl Strategy<Value = Policy> {
    let odd = (any_pattern(), any_near_origin()).prop_map(|(pattern, near)| {
        String::from_utf8_lossy(&near.value_for(&[pattern])).into_owned()
    });
    let suffix = select(vec!["https://*.github.io", "https://*.co.uk", "https://*.b.co.uk", "*"]);
    let origin = prop_oneof![12 => any_pattern(), 1 => odd, 1 => suffix.prop_map(str::to_owned)];
    let method = prop_oneof![
        1 => in_any_case(select(&["PURGE", "PATCH", "*", "", "PU T"][..])),
        1 => in_any_case(select(&oracle::NORMALIZED_METHODS[..])),
        1 => in_any_case(select(&oracle::FORBIDDEN_METHODS[..])),
    ];
    let fine = &["X-A", "*", "Authorization", "User-Agent", "secret", "Proxy", "x y", ""][..];
    let header = prop_oneof![
        2 => in_any_case(select(fine)),
        1 => in_any_case(select(words(oracle::FORBIDDEN_HEADERS))),
        1 => in_any_case(select(words(oracle::CORS_RESPONSE_HEADERS))),
        1 => in_any_case(select(&["sec-fetch-x", "Proxy-X", "sec-", "proxy-"][..])),
    ];
    let fine = &["X-A", "*", "Content-Type", "access-control-allow-origin", "x y", ""][..];
    let exposed = prop_oneof![
        1 => in_any_case(select(fine)),
        1 => in_any_case(select(words(oracle::UNEXPOSABLE_HEADERS))),
    ];
    fn list(name: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<String>> {
        prop_oneof![4 => Just(vec![]), 1 => vec(name, 0..3)]
    }
    let seconds = option::weighted(0.3, select(vec![-2, -1, 0, 600, 7201, 86400, 86401, i64::MIN]));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let parts = (vec(origin, 0..4), list(method), list(header), list(exposed), seconds, flags);
    parts.prop_map(|(origins, methods, headers, expose, max_age, flags)| Policy {
        origins,
        credentials: flags.0,
        methods: (!methods.is_empty()).then_some(methods),
        headers,
        expose,
        max_age,
        allow_insecure: flags.1,
        allow_public_suffix: flags.2,
    })
}
