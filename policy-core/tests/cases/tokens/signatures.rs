//! Invalid signatures: the classes of faults that Wycheproof tests in JSON Web Signatures,
//! generated here, since no package contains its vectors.

use std::process::Command;

use data_encoding::BASE64URL_NOPAD;
use hmac::{Hmac, KeyInit, Mac};
use policy_core::{
    secret::SecretKey,
    time::Timestamp,
    token::{Algorithm, Jwks, Key, KeyRing, NewClaims, RingKey, TokenError, verify_jws},
};
use serde_json::{Value, json};
use sha2::Sha256;

use super::asym::{ED25519, ED25519_PUBLIC};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const SECRET: [u8; 32] = [7; 32];
const HS256: &str = r#"{"alg":"HS256"}"#;
const PAYLOAD: &str = r#"{"sub":"user-1"}"#;

fn hs256() -> Key {
    Key::hs256("a", &SecretKey::from_bytes(SECRET)).expect("a key")
}

fn es256() -> Key {
    // RFC 5958 and RFC 5915, without the public half.
    let before = "3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420";
    let mut private = data_encoding::HEXLOWER.decode(before.as_bytes()).expect("digits");
    private.extend([7; 32]);
    Key::es256("a", &private).expect("a key")
}

fn ed25519() -> Key {
    Key::ed25519("a", ED25519.as_bytes()).expect("a key")
}

fn verify(key: Key, token: &str) -> Result<Vec<u8>, TokenError> {
    let algorithms = [key.algorithm()];
    let keys = KeyRing::new(vec![RingKey::new(key)]).expect("a ring");
    verify_jws(&keys, &algorithms, token.as_bytes(), NOW)
}

fn encode(text: impl AsRef<[u8]>) -> String {
    BASE64URL_NOPAD.encode(text.as_ref())
}

/// The signature of HS256.
fn mac(secret: &[u8], message: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a secret of any length");
    mac.update(message.as_bytes());
    encode(mac.finalize().into_bytes())
}

/// A token with the right signature over its two first segments, however they are written.
fn signed(header: &str, payload: &str) -> String {
    let message = format!("{header}.{payload}");
    format!("{message}.{}", mac(&SECRET, &message))
}

/// A valid token of a key that signs.
fn token(key: Key) -> String {
    let claims = NewClaims::new("https://id.example", "api", "user-1", "a1", NOW);
    let keys = KeyRing::new(vec![RingKey::new(key)]).expect("a ring");
    keys.sign(&claims, NOW).expect("a token")
}

fn segments(token: &str) -> [&str; 3] {
    token.split('.').collect::<Vec<_>>().try_into().expect("three segments")
}

#[test]
fn a_token_has_its_three_segments_and_no_other() {
    let mut refused = 0;
    for key in [hs256, es256, ed25519] {
        let valid = token(key());
        assert!(verify(key(), &valid).is_ok());
        let [h, p, s] = segments(&valid);
        let flat = json!({ "protected": h, "payload": p, "signature": s });
        let general = json!({ "payload": p, "signatures": [{ "protected": h, "signature": s }] });
        for token in [
            format!("{h}.{p}.{}", s.chars().rev().collect::<String>()),
            format!("{h}.{p}."),
            format!("{h}.{p}"),
            format!("{h}.{p}A.{s}"),
            format!("{h}..{s}"),
            format!("{h}.{s}"),
            format!("{}.{p}.{s}", encode(HS256.replace("HS256", "HS512"))),
            format!(".{p}.{s}"),
            format!("{p}.{s}"),
            format!(".{p}."),
            p.to_owned(),
            String::new(),
            "..".to_owned(),
            format!("{valid}."),
            format!("{valid}.{s}"),
            format!(".{valid}"),
            flat.to_string(),
            general.to_string(),
        ] {
            assert!(verify(key(), &token).is_err(), "{token}");
            refused += 1;
        }
    }
    assert_eq!(refused, 54);
}

#[test]
fn a_segment_has_one_spelling_even_if_it_is_signed_in_another() {
    let (header, payload) = (encode(HS256), encode(PAYLOAD));
    let valid = signed(&header, &payload);
    assert_eq!(verify(hs256(), &valid).as_deref(), Ok(PAYLOAD.as_bytes()));
    for header in ["{ \"alg\" : \"HS256\" }", "\r\n{\t\"alg\":\n\"HS256\"}"] {
        assert!(verify(hs256(), &signed(&encode(header), &payload)).is_ok(), "{header:?}");
    }
    let spellings = |segment: &str| {
        let (front, back) = segment.split_at(7);
        let (start, last) = segment.split_at(segment.len() - 1);
        let mut all: Vec<_> = [" ", "\n", "?", "=", "+", "/", "\u{e9}", "\0"]
            .map(|inserted| format!("{front}{inserted}{back}"))
            .into();
        all.extend([" ", "=", "==", "\n", "%3D"].map(|added| format!("{segment}{added}")));
        all.push(format!(" {segment}"));
        // The unused bits of the last character.
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let next = alphabet.find(last).and_then(|at| alphabet.get(at + 1..at + 2));
        all.push(format!("{start}{}", next.expect("another")));
        all
    };
    let mut refused = 0;
    let signature = mac(&SECRET, &format!("{header}.{payload}"));
    // A payload of which the last character has unused bits, as the header and the signature have.
    let payload = encode("{\"sub\":\"user-12\"}");
    assert!(verify(hs256(), &signed(&header, &payload)).is_ok());
    let changed = spellings(&header).into_iter().map(|header| signed(&header, &payload));
    let changed =
        changed.chain(spellings(&payload).into_iter().map(|other| signed(&header, &other)));
    let of_signature = spellings(&signature).into_iter();
    let [header, payload, _] = segments(&valid);
    let changed = changed.chain(of_signature.map(|other| format!("{header}.{payload}.{other}")));
    for token in changed {
        assert_eq!(verify(hs256(), &token), Err(TokenError::Malformed), "{token}");
        refused += 1;
    }
    assert_eq!(refused, 45);
}

#[test]
fn the_parameters_of_es256_are_two_numbers_in_their_range() {
    let valid = token(es256());
    let [header, payload, signature] = segments(&valid);
    let signature = BASE64URL_NOPAD.decode(signature.as_bytes()).expect("base64url");
    let (r, s) = signature.split_at(32);
    let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    let order = data_encoding::HEXLOWER.decode(order.as_bytes()).expect("digits");
    let last = |byte: u8| [&order[..31], &[byte]].concat();
    let small = |byte: u8| [&[0; 31][..], &[byte]].concat();
    let edges =
        [small(0), small(1), small(2), last(0x50), order.clone(), last(0x52), vec![0xff; 32]];
    let mut all: Vec<Vec<u8>> = Vec::new();
    for edge in &edges {
        all.extend(edges.iter().map(|other| [&edge[..], other].concat()));
        all.extend([[r, edge].concat(), [&edge[..], s].concat()]);
    }
    let der = |number: &[u8]| [&[2, 33, 0][..], number].concat();
    all.extend([
        Vec::new(),
        r.to_vec(),
        [s, r].concat(),
        signature[..63].to_vec(),
        [&signature[..], &[0]].concat(),
        [&[0], &signature[..]].concat(),
        [&[0], r, &[0], s].concat(),
        [r, s, r, s].concat(),
        // The encoding of X.509 and TLS.
        [&[0x30, 70][..], &der(r), &der(s)].concat(),
    ]);
    assert!(verify(es256(), &valid).is_ok());
    for signature in &all {
        let token = format!("{header}.{payload}.{}", encode(signature));
        assert!(verify(es256(), &token).is_err(), "{signature:02x?}");
    }
    assert_eq!(all.len(), 72);
}

#[test]
fn a_token_chooses_neither_its_key_nor_its_algorithm() {
    let public = || Key::ed25519_public("a", ED25519_PUBLIC.as_bytes()).expect("a key");
    let keys = KeyRing::new(vec![RingKey::new(public())]).expect("a ring");
    let both = [Algorithm::Ed25519, Algorithm::Hs256];
    let verify = |token: &str| verify_jws(&keys, &both, token.as_bytes(), NOW);
    let body: String = ED25519_PUBLIC.lines().filter(|line| !line.starts_with('-')).collect();
    let der = data_encoding::BASE64.decode(body.as_bytes()).expect("base64");
    let mut refused = 0;
    // The public parts of a key are not a secret.
    for secret in [ED25519_PUBLIC.as_bytes(), body.as_bytes(), &der, &der[12..], b""] {
        for header in [HS256, r#"{"alg":"HS256","kid":"a"}"#] {
            let message = format!("{}.{}", encode(header), encode(PAYLOAD));
            let token = format!("{message}.{}", mac(secret, &message));
            assert_eq!(verify(&token), Err(TokenError::AlgNotAllowed), "{header}");
            refused += 1;
        }
    }
    for name in ["none", "None", "NONE", "nOnE", "", "HS512", "ES256"] {
        let header = encode(json!({ "alg": name }).to_string());
        let [_, payload, signature] = segments(&token(ed25519())).map(str::to_owned);
        for signature in ["", "AA", &signature] {
            assert!(verify(&format!("{header}.{payload}.{signature}")).is_err(), "{name}");
            refused += 1;
        }
    }
    // A key that comes with the token.
    let jwk = json!({ "kty": "oct", "k": encode(SECRET), "kid": "a" });
    for member in ["jwk", "jku", "x5c"] {
        let header = json!({ "alg": "HS256", member: jwk }).to_string();
        assert!(verify(&signed(&encode(header), &encode(PAYLOAD))).is_err(), "{member}");
        refused += 1;
    }
    assert_eq!(refused, 34);
}

/// The padding of RFC 8017 9.2 with one fault each.
#[test]
#[ignore = "needs Python: `cargo xtask test` runs it"]
fn the_padding_of_rs256_follows_the_standard_byte_for_byte() {
    let output = Command::new("python3").args(["-c", include_str!("rs256.py")]).output();
    let output = output.expect("Python; `cargo xtask test` installs what is needed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let set = json!({ "keys": [document["key"]] }).to_string();
    let key = Jwks::parse(set.as_bytes()).expect("a set").keys.pop().expect("a key");
    let (mut valid, mut invalid) = (0, 0);
    for vector in document["vectors"].as_array().expect("a list") {
        let (name, token) = (&vector["name"], vector["token"].as_str().expect("a token"));
        let verified = verify(key.clone(), token);
        if vector["valid"] == true {
            assert!(verified.is_ok(), "{name}: {verified:?}");
            valid += 1;
        } else {
            assert_eq!(verified, Err(TokenError::BadSignature), "{name}");
            invalid += 1;
        }
    }
    assert_eq!((valid, invalid), (4, 266));
}
