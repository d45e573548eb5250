//! The sections `jsonp_callback` and `jsonp_response`.

use http::HeaderMap;
use policy_core::{
    Refusal,
    jsonp::{self, Callback, Grammar},
};
use serde_json::Value;

use crate::auth::{section, text};

#[test]
fn every_callback_is_taken_or_not() {
    for case in section("jsonp_callback", 38) {
        let grammar = match text(&case, "profile") {
            "identifier" => Grammar::Identifier,
            _ => Grammar::Dotted,
        };
        let outcome = match Callback::from_query(&query(&case["value"]), "callback", grammar) {
            Ok(Some(callback)) => {
                assert_eq!(case["value"], callback.as_str());
                "ok"
            }
            Ok(None) => "json",
            Err(refusal) => {
                assert_eq!(refusal, Refusal::CallbackInvalid);
                "reject"
            }
        };
        assert_eq!(outcome, text(&case, "expect"), "{case}");
    }
}

/// The values as a query with every byte percent-encoded.
fn query(values: &Value) -> String {
    let values = match values {
        Value::Array(values) => values.clone(),
        Value::Null => Vec::new(),
        value => vec![value.clone()],
    };
    let encode = |value: &Value| {
        let value = value.as_str().expect("a value");
        let codes: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        format!("callback={codes}")
    };
    values.iter().map(encode).collect::<Vec<_>>().join("&")
}

/// Five of the cases are requests to a server: `tests/auth/jsonp.rs` sends them.
#[test]
fn every_script_is_written_as_expected() {
    let (mut scripts, mut requests) = (0, 0);
    for case in section("jsonp_response", 9) {
        if let Some(request) = case.get("request") {
            let query = text(request, "query");
            let callback = Callback::from_query(query, "callback", Grammar::Identifier);
            let name = callback.expect("a name or none").map(|name| name.as_str().to_owned());
            assert_eq!(name.as_deref(), query.strip_prefix("callback="), "{case}");
            requests += 1;
            continue;
        }
        let callback = Callback::parse(text(&case, "callback"), Grammar::Identifier);
        let script = jsonp::script(&callback.expect("a callback"), text(&case, "json").as_bytes());
        let script = String::from_utf8(script).expect("text");
        assert_eq!(script, text(&case["expect"], "body"), "{case}");
        let mut headers = HeaderMap::new();
        jsonp::apply(&mut headers);
        for (name, value) in case["expect"]["headers"].as_object().expect("headers") {
            assert_eq!(headers[name], value.as_str().expect("a value"), "{case}");
        }
        scripts += 1;
    }
    assert_eq!((scripts, requests), (4, 5));
}
