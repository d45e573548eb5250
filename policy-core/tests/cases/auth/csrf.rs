//! The sections `csrf` and `csrf_token`.

use data_encoding::BASE64URL_NOPAD;
use http::{HeaderName, Method, Request};
use policy_core::{
    Refusal,
    csrf::{CsrfKey, CsrfPolicy, OriginFacts, Provenance, TokenVerdict},
    head::Head,
    secret::SecretKey,
    session::SessionId,
};
use serde_json::Value;

use crate::auth::{member, section, text};

#[test]
fn every_request_is_let_through_or_refused() {
    let config = member("csrf_config");
    let mut token_alone = 0;
    for case in section("csrf", 35) {
        let request = &case["request"];
        // There is no policy that checks the token alone, since a leaked token would then suffice.
        // What remains of the case is that the token is valid.
        if request["policy"] == "token" {
            assert_eq!((text(request, "csrf_token"), text(&case, "expect")), ("valid", "allow"));
            token_alone += 1;
            continue;
        }
        let expected = match text(&case, "expect") {
            "allow" => Ok(()),
            "deny:origin" => Err(Refusal::CsrfOrigin),
            "deny:token" => Err(Refusal::CsrfToken),
            other => panic!("{other}"),
        };
        assert_eq!(outcome(request, &config), expected, "{case}");
    }
    assert_eq!(token_alone, 1);
}

fn outcome(input: &Value, config: &Value) -> Result<(), Refusal> {
    let method: Method = text(input, "method").parse().expect("a method");
    let mut request = Request::builder().method(method);
    for (name, value) in input["headers"].as_object().expect("headers") {
        let name: HeaderName = name.parse().expect("a name");
        request = request.header(name, value.as_str().expect("a value"));
    }
    let request = request.body(()).expect("a request");
    let facts = OriginFacts::read(&Head::read(&request), request.headers());
    let provenance = provenance(&facts, config, input["route_cors_credentials"] == true);
    // Authenticated by `Authorization` without starting a session: no ambient credential.
    if input["cookie_auth"] == false && input["establishes_session"] != true {
        return Ok(());
    }
    let policy = match input["policy"].as_str() {
        Some("origin") => CsrfPolicy::Origin,
        Some(other) => panic!("{other}"),
        None => CsrfPolicy::Token,
    };
    let token = match input["csrf_token"].as_str() {
        Some("valid") => TokenVerdict::Valid,
        Some(_) => TokenVerdict::Invalid,
        None => TokenVerdict::Malformed,
    };
    provenance.admit(policy, || (input["cookie_auth"] == true).then_some(token))
}

fn provenance(facts: &OriginFacts<'_>, config: &Value, of_route: bool) -> Provenance {
    let lists = |origin: &[u8], list: &str| {
        let list = config[list].as_array().expect("origins");
        list.iter().any(|listed| listed.as_str().is_some_and(|text| text.as_bytes() == origin))
    };
    Provenance::judge(
        facts,
        |origin| origin == text(config, "own_origin").as_bytes(),
        |origin| {
            lists(origin, "trusted_origins")
                || (of_route && lists(origin, "cors_credentialed_origins_of_route"))
        },
    )
}

#[test]
fn every_token_is_taken_or_not() {
    for case in section("csrf_token", 8) {
        let key = BASE64URL_NOPAD.decode(text(&case, "key_b64url").as_bytes()).expect("a key");
        let key = CsrfKey::new(&SecretKey::new(&key).expect("a key"));
        let id = SessionId::parse(text(&case, "session_id").as_bytes()).expect("an id");
        let verdict = match key.verify(&id.key().0, text(&case, "token").as_bytes()) {
            TokenVerdict::Valid => "valid",
            TokenVerdict::Invalid => "invalid",
            TokenVerdict::Malformed => "malformed",
        };
        assert_eq!(verdict, text(&case, "expect"), "{case}");
    }
}

/// Tokens are created exactly as in the cases.
#[test]
fn the_first_token_of_the_cases_is_made_again() {
    let cases = section("csrf_token", 8);
    let case = cases.first().expect("a case");
    let key = BASE64URL_NOPAD.decode(text(case, "key_b64url").as_bytes()).expect("a key");
    let key = CsrfKey::new(&SecretKey::new(&key).expect("a key"));
    let id = SessionId::parse(text(case, "session_id").as_bytes()).expect("an id");
    assert_eq!(key.token(&id.key().0, [0; 16]), text(case, "token"));
}
