//! The vectors of Wycheproof for JSON Web Signatures.
//!
//! They are not in this repository: `POLICY_WYCHEPROOF` names their folder, which by default is
//! `../shared/cases/wycheproof` beside the workspace.

use std::path::PathBuf;

use data_encoding::BASE64URL_NOPAD;
use policy_core::{
    secret::SecretKey,
    time::Timestamp,
    token::{Algorithm, Key, KeyRing, RingKey, verify_jws},
};
use serde_json::Value;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// 367 and 370 are byte for byte the valid 357, but labelled invalid; 372 and 373 are labelled
/// valid, but have a `?` in a segment (C2SP/wycheproof issue 236).
const MISLABELLED: [u64; 4] = [367, 370, 372, 373];

fn file(name: &str) -> Option<Value> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases/wycheproof");
    let folder = std::env::var_os("POLICY_WYCHEPROOF").map_or(beside.into(), PathBuf::from);
    let path = folder.join(name);
    if !path.exists() {
        eprintln!("NOT RUN: {name} of Wycheproof; POLICY_WYCHEPROOF names the folder that has it");
        return None;
    }
    let text = std::fs::read(path).expect("a file that can be read");
    Some(serde_json::from_slice(&text).expect("JSON"))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().expect("a list").iter()
}

/// The algorithm and the key of a group; `None` if such a key cannot sign tokens here.
fn key(group: &Value) -> Option<Key> {
    let jwk = group.get("public").unwrap_or(&group["private"]);
    match (jwk["kty"].as_str(), jwk["alg"].as_str()) {
        (Some("oct"), Some("HS256")) => {
            let secret = jwk["k"].as_str().expect("a secret").as_bytes();
            let secret: [u8; 32] =
                BASE64URL_NOPAD.decode(secret).expect("base64url").try_into().expect("32 bytes");
            // `drawn` accepts any bytes; some of these keys are all zeros.
            let key = Key::hs256(jwk["kid"].as_str().expect("an id"), &SecretKey::drawn(secret));
            Some(key.expect("a key"))
        }
        _ => public_key(jwk),
    }
}

fn public_key(jwk: &Value) -> Option<Key> {
    let set = serde_json::json!({ "keys": [jwk] }).to_string();
    policy_core::token::Jwks::parse(set.as_bytes()).expect("a set").keys.pop()
}

#[test]
fn every_json_web_signature_is_valid_or_not() {
    let Some(file) = file("json_web_signature_test.json") else { return };
    let (mut hs256, mut asymmetric, mut without_key) = (0, 0, 0);
    for group in list(&file["testGroups"]) {
        for test in list(&group["tests"]) {
            let id = test["tcId"].as_u64().expect("an id");
            if MISLABELLED.contains(&id) {
                continue;
            }
            // Tokens in the JSON serialization are tested as text, which is refused.
            let jws = test["jws"].as_str().map_or_else(|| test["jws"].to_string(), str::to_owned);
            let Some(key) = key(group) else {
                without_key += 1;
                continue;
            };
            let algorithm = key.algorithm();
            if algorithm == Algorithm::Hs256 {
                hs256 += 1;
            } else {
                asymmetric += 1;
            }
            let keys = KeyRing::new(vec![RingKey::new(key)]).expect("a ring");
            let verified = verify_jws(&keys, &[algorithm], jws.as_bytes(), NOW);
            let is_valid = test["result"] == "valid";
            assert_eq!(verified.is_ok(), is_valid, "{id} {}: {verified:?}", test["comment"]);
        }
    }
    assert_eq!(hs256, 36);
    // Without a key are 91 tests: 83 of RSA-PSS and longer hashes, 2 of P-521, 4 of keys for
    // another use, and 2 of a key whose id is an e-mail address.
    assert_eq!((asymmetric, without_key), (270, 91));
}
