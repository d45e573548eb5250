//! The section `caching`.

use http::{
    HeaderMap, HeaderValue, Method, StatusCode,
    header::{CACHE_CONTROL, VARY},
};
use policy_core::{
    Rule,
    cache::{CacheExchange, CachePart, CachePolicy, CacheSpec, ResponseFacts, apply},
    route::{Authentication, RouteFacts},
};
use serde_json::Value;

use crate::auth::{section, text};

/// The declaration of the cases with a contradiction.
const DECLARED: CachePolicy = CachePolicy::public().max_age(60).build();

const PERSONAL: RouteFacts<'static> =
    RouteFacts { authentication: Authentication::Asked, ..RouteFacts::UNKNOWN };

#[test]
fn every_response_is_stored_as_expected() {
    let mut contradictions = 0;
    for case in section("caching", 10) {
        let (input, expect) = (&case["input"], &case["expect"]);
        let mut headers = HeaderMap::new();
        if let Some(declared) = input["declared"].as_str() {
            headers.insert(CACHE_CONTROL, HeaderValue::from_str(declared).expect("a value"));
        }
        apply(None, exchange(facts(input)), &mut headers);
        let control = headers[CACHE_CONTROL].to_str().expect("text");
        if expect["compile_error"] == true {
            // Without the macro's check, the engine must not allow it either.
            assert_eq!(control, "private, no-cache", "{case}");
            assert_eq!(text(input, "declared"), DECLARED.to_string());
            let violations = CacheSpec { route: PERSONAL, ..*DECLARED.spec() }.violations();
            let rules: Vec<_> = violations.map(|found| (found.rule, found.part)).collect();
            assert_eq!(rules, [(Rule::CachePersonal, CachePart::Public)], "{case}");
            contradictions += 1;
        } else {
            assert_eq!(control, text(expect, "cache_control"), "{case}");
        }
        let varies = |name: &str| headers.get_all(VARY).iter().any(|value| value == name);
        for (key, name) in
            [("vary_has_cookie", "cookie"), ("vary_has_authorization", "authorization")]
        {
            if let Some(wanted) = expect[key].as_bool() {
                assert_eq!(varies(name), wanted, "{name} of {case}");
            }
        }
    }
    assert_eq!(contradictions, 2);
}

fn facts(input: &Value) -> ResponseFacts {
    ResponseFacts {
        cookie_set: input["set_cookie"] == true,
        credential_issued: input["route"].is_string(),
        refused: input["status"].is_number(),
        session_read: input["auth"] == "session",
        bearer: input["auth"] == "token",
        csrf_token_rendered: false,
        authorization_sent: false,
        bearer_absent: false,
        nonce_written: false,
    }
}

fn exchange(facts: ResponseFacts) -> CacheExchange<'static> {
    CacheExchange { method: &Method::GET, status: StatusCode::OK, facts }
}
