//! Tokens across implementations: each side verifies the other's, and neither accepts a changed
//! one.

use std::time::{SystemTime, UNIX_EPOCH};

use policy_core::token::{
    Algorithm, Key, KeyRing, NewClaims, Profile, RingKey, TokenError, Verifier,
};
use policy_server::{Timestamp, tokens::SecretKey};
use serde_json::{Value, json};

use policy_tests::peers::{JOSE, PYJWT, Peer};

const ISSUER: &str = "https://id.example";
const AUDIENCE: &str = "https://api.example";
const SECRET: &str = "/9ylw38tQfz6gRMxEYZzv2V4mKJ0mNUSgAOC3kKJB54=";
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The real time, which the other libraries use.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock");
    Timestamp::from_seconds(since.as_secs())
}

fn claims() -> Value {
    let now = now().seconds();
    json!({
        "iss": ISSUER, "aud": ["other", AUDIENCE], "sub": "zoë \"\\/\u{1f600}", "iat": now,
        "nbf": now, "exp": now + 300, "jti": "a-1", "scope": "read write", "auth_time": now,
        "roles": ["admin", "\u{e9}"], "nested": {"list": [1, -2.5, null, true]},
    })
}

fn hs256() -> Key {
    Key::hs256("k1", &SecretKey::decode(SECRET).expect("a secret")).expect("a key")
}

fn verified(key: Key, token: &str) -> Result<Value, TokenError> {
    let algorithms = [key.algorithm()];
    let profile = Profile::new(ISSUER, AUDIENCE).and_then(|it| it.algorithms(&algorithms));
    let keys = KeyRing::new(vec![RingKey::new(key)]).expect("a ring");
    let token =
        Verifier::new(profile.expect("a profile")).verify(&keys, token.as_bytes(), now())?;
    Ok(serde_json::from_str(token.claims().payload()).expect("JSON"))
}

/// A token that this crate signs, and its claims.
fn signed(key: Key) -> (String, Value) {
    let keys = KeyRing::new(vec![RingKey::new(key)]).expect("a ring");
    let now = now();
    let custom = json!({ "region": "\u{1f600} \"\\" });
    let mut claims = NewClaims::new(ISSUER, AUDIENCE, "zoë \"\\/", "a-1", now);
    claims.scope = Some("read write");
    claims.session = Some("s");
    claims.authenticated = Some(now);
    claims.roles = &["admin", "\u{e9}"];
    claims.tenant = Some("acme \u{e9}");
    claims.custom = custom.as_object();
    let (iat, exp) = (now.seconds(), now.seconds() + 300);
    let says = json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "zoë \"\\/", "iat": iat, "exp": exp, "jti": "a-1",
        "scope": "read write", "sid": "s", "auth_time": iat, "roles": ["admin", "\u{e9}"],
        "tenant": "acme \u{e9}", "region": "\u{1f600} \"\\",
    });
    (keys.sign(&claims, now).expect("a token"), says)
}

/// Copies of the token with one character changed: all of them, or a sample where a key is slow.
///
/// The highest bit of a character is changed. It is never one of the unused bits at the end of a
/// segment, which a lenient decoder ignores.
fn tampered(alg: &str, token: &str) -> Vec<String> {
    let step = if alg == "HS256" { 1 } else { 7 };
    let changed = |at: usize| {
        let mut bytes = token.as_bytes().to_vec();
        let value = ALPHABET.iter().position(|one| *one == bytes[at]);
        bytes[at] = value.map_or(b'A', |value| ALPHABET[value ^ 32]);
        String::from_utf8(bytes).expect("ASCII")
    };
    (0..token.len()).step_by(step).map(changed).collect()
}

/// A key under the name that a job uses for it.
type JobKey<'a> = (&'static str, &'a str);

fn sign_job(alg: &str, (kind, key): JobKey<'_>) -> Value {
    let header = json!({ "typ": "at+jwt", "kid": "k1" });
    json!({ "do": "sign", "alg": alg, kind: key, "header": header, "claims": claims() })
}

fn verify_job(alg: &str, (kind, key): JobKey<'_>, tokens: &[String]) -> Value {
    json!({
        "do": "verify", "alg": alg, kind: key, "tokens": tokens, "issuer": ISSUER,
        "audience": AUDIENCE,
    })
}

/// A token that the peer signs verifies here with the same claims; a changed one does not.
fn theirs_verifies_here(peer: Peer, alg: &str, private: JobKey<'_>, public: &Key) {
    let job = sign_job(alg, private);
    let result = peer.run(&[], &json!([job]));
    let token = result[0]["token"].as_str().expect("a token");
    assert_eq!(verified(public.clone(), token).as_ref(), Ok(&job["claims"]));
    for changed in tampered(alg, token) {
        assert!(verified(public.clone(), &changed).is_err(), "{changed} for {token}");
    }
}

/// A token that this crate signs verifies at the peer with the same claims; a changed one does not.
fn ours_verifies_there(peer: Peer, alg: &str, private: Key, public: JobKey<'_>) {
    let (token, says) = signed(private);
    let changed = tampered(alg, &token);
    let jobs = json!([verify_job(alg, public, &[token]), verify_job(alg, public, &changed)]);
    let results = peer.run(&[], &jobs);
    assert_eq!(results[0], json!({ "accepted": 1, "claims": says }));
    assert_eq!(results[1], json!({ "accepted": 0, "claims": null }));
}

#[test]
#[ignore = "needs Python and PyJWT: `cargo xtask test` runs it"]
fn tokens_of_hs256_are_the_same_to_pyjwt() {
    theirs_verifies_here(PYJWT, "HS256", ("secret", SECRET), &hs256());
    ours_verifies_there(PYJWT, "HS256", hs256(), ("secret", SECRET));
}

#[test]
#[ignore = "needs Node and jose: `cargo xtask test` runs it"]
fn tokens_of_hs256_are_the_same_to_jose() {
    theirs_verifies_here(JOSE, "HS256", ("secret", SECRET), &hs256());
    ours_verifies_there(JOSE, "HS256", hs256(), ("secret", SECRET));
}

/// Tokens that other libraries sign with the same secret and another algorithm, or none, are
/// refused.
#[test]
#[ignore = "needs Python and PyJWT: `cargo xtask test` runs it"]
fn tokens_of_another_algorithm_with_the_same_secret_are_refused() {
    let algorithms = ["HS384", "HS512", "none"];
    let jobs: Vec<Value> = algorithms.iter().map(|alg| sign_job(alg, ("secret", SECRET))).collect();
    let jobs = jobs.into_iter().map(|mut job| {
        if job["alg"] == "none" {
            // PyJWT expects no key for `none`.
            job.as_object_mut().expect("a job").remove("secret");
            job["pem"] = Value::Null;
        }
        job
    });
    let results = PYJWT.run(&[], &jobs.collect());
    let refused = |at: usize, token: &str| {
        let expected = if algorithms[at] == "none" {
            // Its third segment is empty.
            TokenError::Malformed
        } else {
            TokenError::AlgNotAllowed
        };
        assert_eq!(verified(hs256(), token), Err(expected), "{}", algorithms[at]);
    };
    for at in 0..algorithms.len() {
        refused(at, results[at]["token"].as_str().expect("a token"));
    }
    assert_eq!(hs256().algorithm(), Algorithm::Hs256);
}

mod asymmetric {
    use policy_core::token::{JwkFault, Jwks};

    use super::*;

    /// A key pair that the peer generates, as PEM.
    fn generated(peer: Peer, alg: &str) -> (String, String) {
        let pair = peer.run(&[], &json!([{ "do": "generate", "alg": alg }]));
        let text = |half: &str| pair[0][half].as_str().expect("a key").to_owned();
        (text("private"), text("public"))
    }

    fn both_ways(peer: Peer) {
        let (private, public) = generated(peer, "ES256");
        let ours = Key::es256_public("k1", public.as_bytes()).expect("a key");
        theirs_verifies_here(peer, "ES256", ("pem", &private), &ours);
        let ours = Key::es256("k1", private.as_bytes()).expect("a key");
        ours_verifies_there(peer, "ES256", ours, ("pem", &public));

        let (private, public) = generated(peer, "EdDSA");
        let ours = Key::ed25519_public("k1", public.as_bytes()).expect("a key");
        theirs_verifies_here(peer, "EdDSA", ("pem", &private), &ours);
        let ours = Key::ed25519("k1", private.as_bytes()).expect("a key");
        ours_verifies_there(peer, "EdDSA", ours, ("pem", &public));

        let (private, public) = generated(peer, "RS256");
        let ours = Key::rs256_public("k1", public.as_bytes()).expect("a key");
        theirs_verifies_here(peer, "RS256", ("pem", &private), &ours);
    }

    #[test]
    #[ignore = "needs Python and PyJWT: `cargo xtask test` runs it"]
    fn tokens_with_public_keys_are_the_same_to_pyjwt() {
        both_ways(PYJWT);
    }

    #[test]
    #[ignore = "needs Node and jose: `cargo xtask test` runs it"]
    fn tokens_with_public_keys_are_the_same_to_jose() {
        both_ways(JOSE);
    }

    /// The keys of a document that jose exports verify the tokens that they signed and no others.
    /// Secret keys and keys for another use or algorithm are skipped and reported.
    #[test]
    #[ignore = "needs Node and jose: `cargo xtask test` runs it"]
    fn a_set_of_keys_that_jose_publishes_is_read() {
        let claims = claims();
        let published = JOSE.run(&[], &json!([{ "do": "publish", "claims": claims }]));
        let document = published[0]["document"].as_str().expect("a document");
        let jwks = Jwks::parse(document.as_bytes()).expect("a set of keys");
        let taken: Vec<_> = jwks.keys.iter().map(|key| (key.id(), key.algorithm())).collect();
        let algorithms = [Algorithm::Es256, Algorithm::Ed25519, Algorithm::Rs256];
        assert_eq!(
            taken,
            ["ES256", "EdDSA", "RS256"].into_iter().zip(algorithms).collect::<Vec<_>>()
        );
        let skipped = jwks.skipped.iter().map(|skipped| (&*skipped.id, skipped.fault));
        let faults = [
            ("ES384", JwkFault::Algorithm),
            ("private", JwkFault::Secret),
            ("secret", JwkFault::Secret),
            ("encrypts", JwkFault::Use),
        ];
        assert!(skipped.eq(faults), "{:?}", jwks.skipped);
        for key in &jwks.keys {
            for (alg, token) in published[0]["tokens"].as_object().expect("tokens") {
                let verdict = verified(key.clone(), token.as_str().expect("a token"));
                assert_eq!(verdict.is_ok(), alg == key.id(), "{alg} by the key {}", key.id());
                assert!(verdict.is_err() || verdict.as_ref() == Ok(&claims));
            }
        }
    }
}
