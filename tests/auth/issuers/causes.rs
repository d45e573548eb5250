//! Why a token of another issuer is refused, as the log and, in development, the response state it.

use policy_tests::log::Log;
use serde_json::{Value, json};

use super::*;
use crate::issuers::identity_provider::{IdentityProvider, body};

const A: &str = "https://a.example";
const B: &str = "https://b.example";

/// A token of the issuer with one claim changed, or left out.
fn with(key: &Signer, claim: &str, value: Value) -> String {
    let mut all = claims(A).json();
    match value {
        Value::Null => drop(all.as_object_mut().unwrap().remove(claim)),
        value => all[claim] = value,
    }
    key.sign(&json!({ "alg": key.algorithm(), "typ": "at+jwt", "kid": key.id }), &all)
}

/// A token of the issuer with this header.
fn headed(key: &Signer, header: &Value) -> String {
    key.sign(header, &claims(A).json())
}

/// Each cause, with a token that is refused for it.
fn refused_tokens(key: &Signer, other: &Signer) -> Vec<(&'static str, String)> {
    let good = key.token(claims(A));
    vec![
        ("token.too-large", format!("{good}{}", "A".repeat(4096))),
        ("token.malformed", format!("{good}.")),
        (
            "token.critical-header",
            headed(key, &json!({ "alg": "ES256", "typ": "at+jwt", "kid": "1", "crit": ["x"] })),
        ),
        ("token.algorithm", headed(key, &json!({ "alg": "PS256", "typ": "at+jwt", "kid": "1" }))),
        ("token.algorithm", headed(key, &json!({ "alg": "RS256", "typ": "at+jwt", "kid": "1" }))),
        ("token.type-other", headed(key, &json!({ "alg": "ES256", "typ": "JWT", "kid": "1" }))),
        ("token.key-unknown", headed(key, &json!({ "alg": "ES256", "typ": "at+jwt", "kid": "9" }))),
        ("token.key-id-missing", headed(key, &json!({ "alg": "ES256", "typ": "at+jwt" }))),
        (
            "token.key-unsupported",
            headed(key, &json!({ "alg": "ES384", "typ": "at+jwt", "kid": "es384" })),
        ),
        (
            "token.key-unusable",
            headed(key, &json!({ "alg": "ES256", "typ": "at+jwt", "kid": "enc" })),
        ),
        ("token.signature", other.token(claims(A))),
        ("token.claim-missing", with(key, "iat", Value::Null)),
        ("token.claim-type", with(key, "exp", json!("soon"))),
        ("token.claim-type", with(key, "exp", json!(1e300))),
        ("token.expired", with(key, "exp", json!(START - 30))),
        ("token.expired", with(key, "exp", json!(START as f64 - 29.5))),
        ("token.not-yet-valid", with(key, "nbf", json!(START as f64 + 30.5))),
        ("token.issued-in-future", with(key, "iat", json!(START as f64 + 30.5))),
        ("token.login-in-future", with(key, "auth_time", json!(START + 31))),
        ("token.lifetime-too-long", with(key, "exp", json!(START + 3601))),
        ("token.issuer-other", with(key, "iss", json!("https://a.example/"))),
        ("token.issuer-unknown", Signer::es256("9").token(claims("https://c.example"))),
        ("token.audience-other", with(key, "aud", json!("another"))),
        ("token.claim-unexpected", with(key, "use", json!("id"))),
        ("token.issuer-not-taken", Signer::es256("8").token(claims(B))),
    ]
}

/// The issuer, which requires a claim of access tokens.
fn issuer_of(provider: &IdentityProvider) -> Issuer {
    Issuer::new(A).audience("orders").required_claim(["use"], "access").jwks(provider.url())
}

/// A provider that also publishes a key of an algorithm that is not supported, and one for encryption.
async fn provider_of(key: &Signer) -> IdentityProvider {
    let mut encrypts = Signer::es256("enc").jwk();
    encrypts["use"] = json!("enc");
    let es384 = json!({ "kty": "EC", "crv": "P-384", "kid": "es384", "x": "AA", "y": "AA" });
    let document = json!({ "keys": [key.jwk(), es384, encrypts] });
    IdentityProvider::new(body(&document.to_string(), "")).await
}

#[tokio::test]
async fn each_cause_has_its_code_in_the_log_and_in_development_in_the_response() {
    let (key, other) = (Signer::es256("1"), Signer::es256("1"));
    let provider = provider_of(&key).await;
    let unnamed = issuer(B, &[&Signer::es256("8")]);
    let tokens = own_tokens().accept(issuer_of(&provider)).accept(unnamed);
    let good = with(&key, "use", json!("access"));
    for (code, token) in refused_tokens(&key, &other) {
        // A new app each time, since the log lines of one app are rate-limited.
        let service = app(tokens.clone(), &[A], &Clock::at(START)).open().await.unwrap();
        let caller = Caller::from_service(service);
        assert_eq!(caller.status(&good).await, 200);
        let (log, _guard) = Log::start("policy_server");
        let response = caller.send("GET", "/me", &token).await;
        assert_eq!(response.status(), 401, "{code}");
        assert_eq!(
            log.with(&format!(" policy.cause=\"{code}\"")).len(),
            1,
            "{code}: {:?}",
            log.with("")
        );
        let problem = response.json::<Value>();
        let detail = problem["detail"].as_str().unwrap_or_default();
        assert!(detail.starts_with(&format!("{code}: ")), "{code}: {problem}");
    }
}

/// A deployed app says only that the token is invalid or expired.
#[tokio::test]
async fn a_response_of_a_deployed_app_does_not_tell_the_cause() {
    let (key, other) = (Signer::es256("1"), Signer::es256("1"));
    let unnamed = issuer(B, &[&Signer::es256("8")]);
    let named = issuer(A, &[&key]).required_claim(["use"], "access");
    let tokens = own_tokens().accept(named).accept(unnamed);
    for (code, token) in refused_tokens(&key, &other) {
        let (caller, _clock) = Caller::new(tokens.clone(), &[A]);
        assert_eq!(caller.status(&with(&key, "use", json!("access"))).await, 200);
        let code = match code {
            // With configured keys, no unused keys are known.
            "token.key-unsupported" | "token.key-unusable" => "token.key-unknown",
            code => code,
        };
        let (log, _guard) = Log::start("policy_server");
        let problem = caller.send("GET", "/me", &token).await.json::<Value>();
        assert_eq!(problem["detail"], Value::Null, "{code}");
        assert_eq!(log.with(&format!(" policy.cause=\"{code}\"")).len(), 1, "{code}");
    }
}

/// RFC 7519 2: a NumericDate may have a fraction.
#[tokio::test]
async fn dates_with_a_fraction_are_accepted_from_an_issuer_and_not_from_the_app() {
    let key = Signer::ed25519("1");
    let (caller, _clock) = Caller::new(own_tokens().accept(issuer(A, &[&key])), &[A]);
    for claim in ["iat", "nbf", "exp", "auth_time"] {
        let date = if claim == "exp" { START + 60 } else { START - 60 };
        for date in [json!(date as f64 + 0.5), json!(date as f64)] {
            assert_eq!(caller.status(&with(&key, claim, date)).await, 200, "{claim}");
        }
    }
    let own = |date: Value| {
        let mut claims = Claims { audience: ORIGIN, ..claims(ORIGIN) }.json();
        claims["exp"] = date;
        signing::hs256_of("own", &[1; 32], &claims)
    };
    assert_eq!(caller.status(&own(json!(START + 60))).await, 200);
    assert_eq!(caller.status(&own(json!(START as f64 + 60.5))).await, 401);
}
