//! The engine, tested with `tests/cases/cors.json`: configurations, origins, and whole exchanges
//! through a minimal server.

use http::HeaderValue;
use policy_core::{
    Rule,
    cors::{Cors, CorsConfig, CorsPart, OriginDecision, PolicyErrors},
    head::Single,
    origin::OriginSet,
};
use policy_core_tests::{
    case::{Case, Cases, Level},
    exchange::Policy,
};
use serde_json::{Value, json};

#[test]
fn every_configuration_is_accepted_or_refused_for_every_reason() {
    let cases = section("config_cases");
    assert_eq!(cases.len(), 80);
    for case in &cases {
        let policy: Policy = serde_json::from_value(case["policy"].clone()).expect("a policy");
        let outcome = Cors::from_config("the case", &policy.config()).map(|_| ());
        let mut reasons: Vec<String> = outcome.as_ref().err().map(reasons).unwrap_or_default();
        reasons.sort();
        let mut wanted: Vec<&str> = list(&case["expect"]["reasons"]);
        wanted.sort_unstable();
        assert_eq!(reasons, wanted, "{}", case["name"]);
        assert_eq!(Value::from(outcome.is_ok()), case["expect"]["accept"], "{}", case["name"]);
    }
}

/// Writing a configuration to its file form and reading it back changes nothing.
#[test]
fn configurations_survive_being_written_and_read() {
    for case in section("config_cases") {
        let policy: Policy = serde_json::from_value(case["policy"].clone()).expect("a policy");
        let written = serde_json::to_string(&policy.config()).expect("JSON");
        let read: CorsConfig = serde_json::from_str(&written).expect("a configuration");
        assert_eq!(read, policy.config());
    }
}

#[test]
fn every_origin_is_matched_or_not() {
    let cases = section("match_cases");
    assert_eq!(cases.len(), 34);
    for case in &cases {
        let origins = list(&case["origins"]);
        let origin = case["origin"].as_str().expect("an origin");
        let config = CorsConfig::new(origins.iter().copied());
        let cors = Cors::from_config("the case", &config).expect("a policy");
        let value = HeaderValue::from_str(origin).expect("a header value");
        let granted = match cors.decide_origin(Single::One(&value)) {
            OriginDecision::Unasked => cors.is_any_origin(),
            OriginDecision::Origin(echoed) => echoed == value,
            OriginDecision::Refused => false,
        };
        assert_eq!(Value::from(granted), case["expect"], "{}", case["name"]);
        // `*` is not a pattern of a set.
        if let Ok(set) = OriginSet::new(origins) {
            let matches = set.matches(origin.as_bytes());
            assert_eq!(Value::from(matches), case["expect"], "{}", case["name"]);
        } else {
            assert!(cors.is_any_origin(), "{}", case["name"]);
        }
    }
}

#[test]
fn every_exchange_goes_as_expected() {
    let Cases { cases } = Cases::read();
    assert_eq!(cases.len(), 79);
    let differences: Vec<String> = cases
        .iter()
        .flat_map(|case| {
            case.differences(&policy_core_tests::assembly::respond(
                &case.scenario(),
                &case.request(),
            ))
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(cases.iter().filter(|case| case.level == Level::Policy).count(), 1);
}

/// Keys of the format that no case has at the moment: each passes if it is true, and is reported if
/// it is not.
#[test]
fn every_key_of_the_format_is_compared() {
    let differences = |expect: Value| {
        let case: Case = serde_json::from_value(json!({
            "name": "a case",
            "suite": null,
            "policy": { "origins": ["https://a.example"], "headers": ["X-A", "X-B"] },
            "app": { "headers": [["x-c", ["1", "2"]]] },
            "request": {
                "method": "OPTIONS",
                "path": "/r",
                "headers": [
                    ["origin", "https://a.example"],
                    ["access-control-request-method", "GET"],
                    ["access-control-request-headers", ["x-a", "x-b"]],
                ],
            },
            "expect": expect,
        }))
        .expect("a case");
        assert_eq!(
            case.request().headers.get_all("access-control-request-headers").iter().count(),
            2
        );
        case.differences(&policy_core_tests::assembly::respond(&case.scenario(), &case.request()))
    };
    for (key, right, wrong) in [
        ("acao_count", json!(1), json!(0)),
        ("allow_headers_raw", json!("content-type,x-a,x-b"), json!("x-a,x-b")),
        ("bounded", json!(true), json!(false)),
    ] {
        assert_eq!(differences(json!({ key: right })), [""; 0]);
        assert_eq!(differences(json!({ key: wrong })).len(), 1, "{key}");
    }
    assert_eq!(differences(json!({ "no_such_key": 1 })).len(), 1);
}

fn section(name: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("../../../tests/cases/cors.json"))
        .expect("the file of cases");
    file.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn list(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The violations in the terms of the cases.
fn reasons(errors: &PolicyErrors) -> Vec<String> {
    let one = |error: &policy_core::cors::PolicyError| {
        let field = if error.part() == CorsPart::Within { CorsPart::Origins } else { error.part() };
        format!("{}:{}", field.name(), reason(error.rule()))
    };
    errors.errors().iter().map(one).collect()
}

fn reason(rule: Rule) -> &'static str {
    match rule {
        Rule::OriginsMissing => "missing",
        Rule::NullOrigin
        | Rule::FileOrigin
        | Rule::OriginPunycode
        | Rule::OriginDefaultPort
        | Rule::HeaderOfResponse
        | Rule::ExposeOfRequest => "prohibited",
        Rule::OriginTooLong
        | Rule::OriginScheme
        | Rule::OriginPath
        | Rule::OriginUserInfo
        | Rule::OriginSpace
        | Rule::OriginUpperCase
        | Rule::OriginNotAscii
        | Rule::OriginHost
        | Rule::OriginAddress
        | Rule::OriginMappedAddress
        | Rule::OriginWildcard
        | Rule::OriginPort
        | Rule::MethodInvalid
        | Rule::HeaderInvalid
        | Rule::ExposeInvalid => "invalid",
        Rule::MethodForbidden | Rule::HeaderForbidden | Rule::ExposeForbidden => "forbidden",
        Rule::AnyOriginWithCredentials
        | Rule::AnyMethodWithCredentials
        | Rule::AnyHeaderWithCredentials
        | Rule::AnyExposeWithCredentials => "wildcard+credentials",
        Rule::InsecureOriginWithCredentials | Rule::UnknownSchemeWithCredentials => {
            "insecure+credentials"
        }
        Rule::PublicSuffixWithCredentials => "public-suffix+credentials",
        Rule::MaxAgeOutOfBounds => "out-of-bounds",
        _ => "a rule that no case has",
    }
}
