//! Key sets as issuers publish them.

use policy_core::token::{Algorithm, JwkFault, Jwks, Key};
use serde_json::Value;

use crate::engine::{Seen, Target, bounded, magnitude};

/// Whether an entry may be a key of this algorithm at all (RFC 7517 4, RFC 7518 6, RFC 8037 2).
fn may_be(entry: &Value, algorithm: Algorithm) -> bool {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    let is_absent = |name: &str| entry.get(name).is_none_or(Value::is_null);
    let (kind, curve, names): (_, _, &[&str]) = match algorithm {
        Algorithm::Es256 => ("EC", Some("P-256"), &["ES256"]),
        Algorithm::Ed25519 => ("OKP", Some("Ed25519"), &["EdDSA", "Ed25519"]),
        Algorithm::Rs256 => ("RSA", None, &["RS256"]),
        _ => return false,
    };
    let operations = entry.get("key_ops").and_then(Value::as_array);
    text("kty") == Some(kind)
        && (curve.is_none() || text("crv") == curve)
        && (is_absent("alg") || text("alg").is_some_and(|alg| names.contains(&alg)))
        && (is_absent("use") || text("use") == Some("sig"))
        && (is_absent("key_ops")
            || operations.is_some_and(|all| all.iter().any(|it| it == "verify")))
        && is_absent("d")
        && is_absent("k")
}

fn check(document: &[u8]) -> Seen {
    // A parsed document takes about this much memory.
    let read = bounded(document.len() * 4, || Jwks::parse(document));
    let parsed: Option<Value> = serde_json::from_slice(document).ok();
    let entries = parsed.as_ref().and_then(|it| it.get("keys")).and_then(Value::as_array);
    let Ok(jwks) = read else {
        // Parsers disagree about duplicate names.
        let is_plain =
            document.len() <= Jwks::MAX_LEN && entries.is_some_and(|all| all.len() <= 64);
        let names = document.windows(6).filter(|window| *window == b"\"keys\"").count();
        assert!(
            !is_plain || names != 1 || document.contains(&b'\\'),
            "{}",
            document.escape_ascii()
        );
        return Seen::new(false, magnitude(document.len()));
    };
    let entries = entries.expect("a list of keys");
    assert_eq!(jwks.keys.len() + jwks.skipped.len(), entries.len());
    let id = |entry: &Value| entry.get("kid").and_then(Value::as_str).map(str::to_owned);
    for key in &jwks.keys {
        let same = jwks.keys.iter().filter(|other| other.id() == key.id()).count();
        assert_eq!(same, 1, "{}", key.id());
        let is_its = |entry: &&Value| id(entry).as_deref() == Some(key.id());
        let mut its = entries.iter().filter(is_its);
        assert!(its.any(|entry| may_be(entry, key.algorithm())), "{}", document.escape_ascii());
        assert!(!key.can_sign());
    }
    for skipped in &jwks.skipped {
        assert!(skipped.id.chars().count() <= 64);
    }
    let algorithms: Vec<Algorithm> = jwks.keys.iter().map(Key::algorithm).take(3).collect();
    let faults: Vec<JwkFault> = jwks.skipped.iter().map(|skipped| skipped.fault).take(3).collect();
    Seen::new(true, (format!("{algorithms:?}{faults:?}"), entries.len().min(20)))
}

#[test]
fn a_set_of_keys_has_only_keys_that_it_may_have() {
    Target {
        name: "jwks",
        corpus: include_str!("../corpus/jwks.txt"),
        dictionary: &[
            b"{",
            b"}",
            b"[",
            b"]",
            b",",
            b":",
            b"null",
            b"\"keys\":[",
            b"\"kty\":\"EC\"",
            b"\"kty\":\"RSA\"",
            b"\"kty\":\"OKP\"",
            b"\"kty\":\"oct\"",
            b"\"crv\":\"P-256\"",
            b"\"crv\":\"Ed25519\"",
            b"\"alg\":\"ES256\"",
            b"\"alg\":\"EdDSA\"",
            b"\"alg\":\"RS256\"",
            b"\"alg\":\"HS256\"",
            b"\"use\":\"enc\"",
            b"\"use\":\"sig\"",
            b"\"key_ops\":[\"verify\"]",
            b"\"kid\":\"a\"",
            b"\"kid\":\"b\"",
            b"\"d\":1,",
            b"\"k\":\"AA\",",
            b"\"x\":",
            b"\"y\":",
            b"\"n\":",
            b"\"e\":\"AQAB\"",
            b"\"\"",
            b"{},",
        ],
        max_len: 4_000,
        check,
    }
    .run();
}
