//! Asymmetric keys: generated, published, used.

use policy_core::{
    time::Timestamp,
    token::{
        Algorithm, JwkFault, Jwks, Key, KeyError, KeyRing, NewClaims, Profile, RingKey, SignError,
        TokenError, Verifier,
    },
};
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// RFC 8410 10.3.
pub(super) const ED25519: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
-----END PRIVATE KEY-----
";
pub(super) const ED25519_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PUBLIC KEY-----
";

fn ring(key: Key) -> KeyRing {
    KeyRing::new(vec![RingKey::new(key)]).expect("a ring")
}

#[test]
fn a_token_signed_with_the_private_key_verifies_with_the_public_one_only() {
    let private = Key::ed25519("a", ED25519.as_bytes()).expect("a key");
    let public = Key::ed25519_public("a", ED25519_PUBLIC.as_bytes()).expect("a key");
    assert!(public.has_material_of(&private));
    let (keys, public) = (ring(private), ring(public));
    let claims = NewClaims::new("https://id.example", "api", "user-1", "a1", NOW);
    let token = keys.sign(&claims, NOW).expect("a token");
    let profile = Profile::new("https://id.example", "api").expect("a profile");
    let verify = |profile: Profile, token: &str| {
        let verified = Verifier::new(profile).verify(&public, token.as_bytes(), NOW);
        verified.map(|token| token.claims().subject().to_owned())
    };
    let ed25519 = profile.clone().algorithms(&[Algorithm::Ed25519]).expect("a profile");
    assert_eq!(verify(ed25519.clone(), &token).as_deref(), Ok("user-1"));
    assert_eq!(verify(profile, &token), Err(TokenError::AlgNotAllowed));
    assert_eq!(verify(ed25519, &token.replace('.', "A.")), Err(TokenError::Malformed));
    assert_eq!(public.sign(&claims, NOW), Err(SignError::NoKey));
}

#[test]
fn keys_of_another_algorithm_or_half_are_refused() {
    let refused = [
        Key::es256("a", ED25519.as_bytes()),
        Key::es256_public("a", ED25519_PUBLIC.as_bytes()),
        Key::ed25519("a", ED25519_PUBLIC.as_bytes()),
        Key::ed25519_public("a", ED25519.as_bytes()),
        Key::rs256_public("a", ED25519_PUBLIC.as_bytes()),
        Key::rs256_public("a", b""),
    ];
    for key in refused {
        assert_eq!(key.expect_err("no key"), KeyError::Encoding);
    }
}

#[test]
fn only_usable_verification_keys_are_taken_from_a_set() {
    let point = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    let with = |changes: Value| {
        let mut jwk = json!({ "kty": "OKP", "crv": "Ed25519", "kid": "k", "x": point });
        let members = jwk.as_object_mut().expect("an object");
        members.extend(changes.as_object().expect("an object").clone());
        members.retain(|_name, value| !value.is_null());
        jwk
    };
    let rsa = |n: String, e: &str| json!({ "kty": "RSA", "kid": "k", "n": n, "e": e });
    let cases = [
        (with(json!({})), None),
        (with(json!({ "use": "sig", "key_ops": ["verify"], "alg": "Ed25519" })), None),
        (with(json!({ "use": "enc" })), Some(JwkFault::Use)),
        (with(json!({ "key_ops": ["encrypt"] })), Some(JwkFault::Use)),
        (with(json!({ "key_ops": "verify" })), Some(JwkFault::Malformed)),
        (with(json!({ "alg": "HS256" })), Some(JwkFault::Algorithm)),
        (with(json!({ "alg": "ES256" })), Some(JwkFault::Algorithm)),
        (with(json!({ "crv": "X25519" })), Some(JwkFault::Algorithm)),
        (with(json!({ "kty": "EC" })), Some(JwkFault::Algorithm)),
        (with(json!({ "kty": "oct", "k": point })), Some(JwkFault::Secret)),
        (with(json!({ "d": point })), Some(JwkFault::Secret)),
        (with(json!({ "kid": null })), Some(JwkFault::Id)),
        (with(json!({ "kid": "a b" })), Some(JwkFault::Id)),
        (with(json!({ "kid": "a\"b" })), Some(JwkFault::Id)),
        (with(json!({ "kid": "a\\b" })), Some(JwkFault::Id)),
        (with(json!({ "kid": "\u{e9}" })), Some(JwkFault::Id)),
        (with(json!({ "kid": "k".repeat(129) })), Some(JwkFault::Id)),
        (with(json!({ "kid": "k".repeat(128) })), None),
        (with(json!({ "kid": "1234+example/../k:1=" })), None),
        (with(json!({ "x": "AQ" })), Some(JwkFault::Value)),
        // The neutral element, of order one: every signature would verify.
        (with(json!({ "x": format!("AQ{}", "A".repeat(41)) })), Some(JwkFault::Value)),
        (
            json!({ "kty": "EC", "crv": "P-256", "kid": "k", "x": point, "y": point }),
            Some(JwkFault::Value),
        ),
        // 1024 bits.
        (rsa("_".repeat(171), "AQAB"), Some(JwkFault::Value)),
        (json!("a text"), Some(JwkFault::Malformed)),
        // The members of a key without their names.
        (
            json!(["OKP", "k", null, null, null, "Ed25519", point, null, null, null, null, null]),
            Some(JwkFault::Malformed),
        ),
    ];
    for (jwk, fault) in cases {
        let document = json!({ "keys": [jwk] }).to_string();
        let jwks = Jwks::parse(document.as_bytes()).expect("a set");
        assert_eq!(jwks.skipped.first().map(|skipped| skipped.fault), fault, "{document}");
        assert_eq!(jwks.keys.len(), usize::from(fault.is_none()), "{document}");
    }
    let twice = json!({ "keys": [with(json!({})), with(json!({}))] }).to_string();
    let twice = Jwks::parse(twice.as_bytes()).expect("a set");
    assert_eq!((twice.keys.len(), twice.skipped[0].fault), (1, JwkFault::Duplicate));
}

#[test]
fn a_set_that_is_none_or_too_large_is_refused() {
    let many = json!({ "keys": vec![0; 65] }).to_string();
    let long = format!("{{\"keys\":[]{}}}", " ".repeat(Jwks::MAX_LEN));
    for document in ["", "[]", "[[]]", r#"{"keys":{}}"#, &many, &long] {
        assert_eq!(Jwks::parse(document.as_bytes()).expect_err("no set"), KeyError::Encoding);
    }
}
