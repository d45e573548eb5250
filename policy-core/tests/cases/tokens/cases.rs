//! The sections about tokens of `tests/cases/auth.json`.

use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use policy_core::{
    secret::SecretKey,
    time::Timestamp,
    token::{Algorithm, Key, KeyRing, Profile, RingKey, TokenError, Verifier},
};
use serde_json::{Map, Value};

use crate::auth::file;

#[test]
fn every_token_of_hs256_is_accepted_or_refused_for_its_reason() {
    run("token_hs256", 124);
}

#[test]
fn every_asymmetric_token_is_accepted_or_refused_for_its_reason() {
    run("token_asymmetric", 13);
}

/// A configuration that the format allows and no case has at the moment.
#[test]
fn algorithms_that_no_profile_lists_take_no_token() {
    let file = file();
    let with = |algorithms: &[&str], expect: &str| {
        let mut case = file["sections"]["token_hs256"][0].clone();
        assert_eq!(case["expect"], "ok");
        case["config"]["algs"] = algorithms.into();
        case["expect"] = expect.into();
        difference(&file, &case)
    };
    assert_eq!(with(&["HS384"], "alg_not_allowed"), None);
    assert_eq!(with(&["HS384", "HS256"], "ok"), None);
    assert!(with(&["HS384"], "ok").is_some());
}

fn run(section: &str, count: usize) {
    let file = file();
    let cases = file["sections"][section].as_array().expect("a section");
    assert_eq!(cases.len(), count);
    let wrong: Vec<String> = cases.iter().filter_map(|case| difference(&file, case)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn difference(file: &Value, case: &Value) -> Option<String> {
    let mut config = file["token_defaults"].as_object().expect("defaults").clone();
    config.extend(case["config"].as_object().expect("a configuration").clone());
    let got = verify(file, &config, case["token"].as_str().expect("a token"));
    let got = got.map_or_else(TokenError::detail, |()| "ok");
    let also = case["also_acceptable"].as_array().expect("a list");
    let is_right = case["expect"] == got || also.iter().any(|code| code == got);
    (!is_right).then(|| format!("{} {}: {got}, not {}", case["id"], case["name"], case["expect"]))
}

fn verify(file: &Value, config: &Map<String, Value>, token: &str) -> Result<(), TokenError> {
    // Nothing is signed with an algorithm that this library does not have.
    if texts(&config["algs"]).all(|name| algorithm(name).is_none()) {
        return Err(TokenError::AlgNotAllowed);
    }
    let now = Timestamp::from_seconds(number(&config["now"]));
    let keys = texts(&config["keys"]).map(|id| RingKey::new(key(file, id))).collect();
    let keys = KeyRing::new(keys).expect("a ring");
    let token = Verifier::new(profile(config)).verify(&keys, token.as_bytes(), now)?;
    let claims = token.claims();

    // The check for a cut-off, which follows the verification.
    let cut = config["not_before_user"][claims.subject()].as_u64().unwrap_or_default();
    let is_listed = texts(&config["revoked_jti"]).any(|id| id == claims.id());
    if is_listed || claims.issued() < Timestamp::from_seconds(cut) {
        return Err(TokenError::Revoked);
    }
    match config["required_scope"].as_str() {
        Some(scope) if !claims.has_scope(scope) => Err(TokenError::InsufficientScope),
        _ => Ok(()),
    }
}

fn profile(config: &Map<String, Value>) -> Profile {
    let text = |name: &str| config[name].as_str().expect("a text");
    let seconds = |name: &str| Duration::from_secs(number(&config[name]));
    let mut algorithms: Vec<Algorithm> = texts(&config["algs"]).filter_map(algorithm).collect();
    algorithms.dedup();
    let required = ["iss", "aud", "sub", "iat", "exp", "jti"];
    assert!(texts(&config["require"]).eq(required), "the required claims are fixed");
    let profile = Profile::new(text("iss"), text("aud"))
        .and_then(|profile| profile.leeway(seconds("leeway")))
        .and_then(|profile| profile.max_lifetime(seconds("max_lifetime")))
        .and_then(|profile| profile.algorithms(&algorithms))
        .and_then(|profile| {
            profile.max_len(usize::try_from(number(&config["max_len"])).expect("a length"))
        })
        .and_then(|profile| match config["typ"].as_str() {
            Some(typ) => profile.typ(typ),
            None => Ok(profile.generic_type()),
        })
        .expect("a profile");
    match text("numeric_dates") {
        "integer" => profile,
        "fractional" => profile.fractional_dates(),
        other => panic!("dates that are {other}"),
    }
}

/// `None` for an algorithm that exists and that no profile can list.
fn algorithm(name: &str) -> Option<Algorithm> {
    match name {
        "HS256" => Some(Algorithm::Hs256),
        "ES256" => Some(Algorithm::Es256),
        "Ed25519" | "EdDSA" => Some(Algorithm::Ed25519),
        "RS256" => Some(Algorithm::Rs256),
        "HS384" | "HS512" | "RS384" | "RS512" | "PS256" | "PS384" | "PS512" | "ES384" | "ES512" => {
            None
        }
        other => panic!("no algorithm {other}"),
    }
}

fn key(file: &Value, id: &str) -> Key {
    if let Some(text) = file["token_keys"][id]["k"].as_str() {
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).expect("base64url");
        return Key::hs256(id, &SecretKey::new(&bytes).expect("a secret")).expect("a key");
    }
    let key = &file["asymmetric_keys"][id];
    let pem = key["pem"].as_str().expect("a key in PEM").as_bytes();
    match key["alg"].as_str() {
        Some("ES256") => Key::es256_public(id, pem),
        Some("Ed25519") => Key::ed25519_public(id, pem),
        Some("RS256") => Key::rs256_public(id, pem),
        other => panic!("no algorithm {other:?}"),
    }
    .expect("a key")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}
