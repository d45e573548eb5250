//! Laws of tokens.

use std::time::Duration;

use policy_core::{
    secret::SecretKey,
    time::Timestamp,
    token::{
        Algorithm, Key, KeyRing, NewClaims, Profile, RingKey, SignError, TokenError, Verifier,
    },
};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn key(id: &str, first: u8) -> Key {
    let secret: Vec<u8> = (first..first + 40).collect();
    Key::hs256(id, &SecretKey::new(&secret).expect("a secret")).expect("a key")
}

fn ring() -> KeyRing {
    KeyRing::new(vec![RingKey::new(key("a", 100)), RingKey::new(key("b", 200))]).expect("a ring")
}

fn verifier() -> Verifier {
    Verifier::new(Profile::new("https://id.example", "api").expect("a profile"))
}

fn claims<'a>(subject: &'a str, scope: &'a str) -> NewClaims<'a> {
    let id = "AAAAAAAAAAAAAAAAAAAAAA";
    let mut claims = NewClaims::new("https://id.example", "api", subject, id, NOW);
    claims.scope = Some(scope);
    claims
}

proptest! {
    /// Subjects, scopes, roles and custom claims are read back exactly as they were signed, with
    /// quotes, backslashes and control characters.
    #[test]
    fn claims_are_read_as_they_were_signed(
        // Each contains a quote, so that it is read with its escapes.
        subject in r#".{0,9}"[\\\n\t]?.{0,9}"#, session in r#"".{0,20}"#, role in r#".{0,9}"(\\|.){0,9}"#,
        tenant in r#"".{0,20}"#, custom in r#"".{0,20}"#,
    ) {
        let keys = ring();
        let members = json!({ "region": custom });
        let roles = ["admin", &*role];
        let mut new = claims(&subject, "read  write");
        new.session = Some(&session);
        new.authenticated = Some(NOW);
        new.roles = &roles;
        new.tenant = Some(&tenant);
        new.custom = members.as_object();
        let token = keys.sign(&new, NOW).expect("a token");
        let token = verifier().verify(&keys, token.as_bytes(), NOW).expect("valid");
        let read = token.claims();
        prop_assert_eq!(read.subject(), &subject);
        prop_assert_eq!(read.session(), Some(&*session));
        prop_assert_eq!(read.authenticated_at(), Some(NOW));
        prop_assert_eq!(read.scopes().collect::<Vec<_>>(), ["read", "write"]);
        prop_assert_eq!(read.roles().collect::<Vec<_>>(), ["admin", &role]);
        prop_assert_eq!(read.tenant(), Some(&*tenant));
        #[derive(Deserialize)]
        struct Custom {
            region: String,
        }
        prop_assert_eq!(read.custom::<Custom>().expect("custom claims").region, custom);
    }

    /// No bytes make the verifier panic.
    #[test]
    fn any_bytes_are_answered(token in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = verifier().verify(&ring(), &token, NOW);
    }
}

/// Changing any byte to any other value makes a token invalid: in the header, the payload, the
/// signature, or the dots between them.
#[test]
fn every_change_of_one_byte_of_one_token_is_refused() {
    let (keys, verifier) = (ring(), verifier());
    let token = keys.sign(&claims("user-1", "read"), NOW).expect("a token").into_bytes();
    let mut refused = 0;
    for place in 0..token.len() {
        for byte in 0..=255_u8 {
            let mut changed = token.clone();
            changed[place] = byte;
            let is_refused = verifier.verify(&keys, &changed, NOW).is_err();
            assert_eq!(is_refused, byte != token[place], "byte {place} as {byte}");
            refused += usize::from(is_refused);
        }
    }
    assert_eq!(refused, token.len() * 255);
}

#[test]
fn the_newest_key_that_has_begun_signs_and_a_retired_one_does_nothing() {
    let at = |seconds| NOW.after(Duration::from_secs(seconds));
    let (mut old, mut new) = (RingKey::new(key("old", 100)), RingKey::new(key("new", 200)));
    (old.signs_from, old.retires) = (NOW, Some(at(400)));
    new.signs_from = at(100);
    let keys = KeyRing::new(vec![old, new]).expect("a ring");
    let sign = |now| {
        let mut claims = claims("user-1", "read");
        (claims.issued, claims.expires) = (now, at(600));
        keys.sign(&claims, now).expect("a token")
    };
    let is_valid = |token: &str, now| verifier().verify(&keys, token.as_bytes(), now);
    let (old, new) = (sign(at(99)), sign(at(100)));
    assert_ne!(old.split('.').next(), new.split('.').next());
    assert!(is_valid(&old, at(399)).is_ok());
    assert_eq!(is_valid(&old, at(400)).expect_err("retired"), TokenError::UnknownKey);
    assert!(is_valid(&new, at(400)).is_ok());
    let before = Timestamp::from_seconds(1_799_999_999);
    assert_eq!(keys.sign(&claims("user-1", "read"), before), Err(SignError::NoKey));
}

/// A token that was opened once is judged by each later time as if it had just arrived.
#[test]
fn an_opened_token_is_judged_by_the_time() {
    let at = |seconds| NOW.after(Duration::from_secs(seconds));
    let mut entry = RingKey::new(key("a", 100));
    entry.retires = Some(at(500));
    let keys = KeyRing::new(vec![entry]).expect("a ring");
    let sign = |expires| {
        let mut claims = claims("user-1", "read");
        claims.expires = at(expires);
        keys.sign(&claims, NOW).expect("a token")
    };
    let early = Timestamp::from_seconds(NOW.seconds() - 31);
    let verifier = verifier();
    for (expires, seconds, due) in [
        (300, 329, None),
        (300, 330, Some(TokenError::Expired)),
        (900, 499, None),
        (900, 500, Some(TokenError::UnknownKey)),
    ] {
        let token = verifier.open(&keys, sign(expires).as_bytes()).expect("a valid signature");
        assert!(token.is_of(&verifier) && !token.is_of(&self::verifier()));
        assert_eq!(token.verify_at(at(seconds)).err(), due, "{expires} after {seconds}");
        assert_eq!(token.verify_at(early).err(), Some(TokenError::IssuedInFuture));
        let read = token.verify_at(NOW).expect("valid");
        assert_eq!(read.claims().subject(), "user-1");
    }
    let mut forged = sign(300).into_bytes();
    *forged.last_mut().expect("a signature") ^= 4;
    assert_eq!(verifier.open(&keys, &forged).err(), Some(TokenError::BadSignature));
}

#[test]
fn claims_that_would_be_refused_are_not_signed() {
    let keys = ring();
    let sign = |custom: Value| {
        let custom: Map<String, Value> = custom.as_object().expect("an object").clone();
        let mut claims = claims("user-1", "read");
        claims.custom = Some(&custom);
        keys.sign(&claims, NOW).err()
    };
    assert_eq!(sign(json!({ "region": [[[[[[[]]]]]]] })), None);
    assert_eq!(sign(json!({ "region": [[[[[[[[]]]]]]]] })), Some(SignError::Custom));
    for reserved in ["exp", "cut_offs", "tenant"] {
        assert_eq!(sign(json!({ reserved: 1 })), Some(SignError::Reserved), "{reserved}");
    }
    for (letter, count, is_tenant) in [
        ("a", 0, false),
        ("a", 1, true),
        ("a", 200, true),
        ("a", 201, false),
        ("\u{e9}", 101, false),
    ] {
        let tenant = letter.repeat(count);
        let mut claims = claims("user-1", "read");
        claims.tenant = Some(&tenant);
        let error = keys.sign(&claims, NOW).err();
        assert_eq!(error, (!is_tenant).then_some(SignError::Claims), "{count} of {letter}");
    }
    assert_eq!(keys.sign(&claims("", "read"), NOW), Err(SignError::Claims));
    let mut expired = claims("user-1", "read");
    expired.expires = NOW;
    assert_eq!(keys.sign(&expired, NOW), Err(SignError::Claims));
}

/// Also for a token that begins as the server's own, which is verified without reading its header.
#[test]
fn a_profile_takes_the_algorithms_that_it_lists() {
    let keys = ring();
    let own = keys.sign(&claims("user-1", "read"), NOW).expect("a token");
    for (listed, is_taken) in [
        (&[Algorithm::Hs256][..], true),
        (&[Algorithm::Es256, Algorithm::Hs256], true),
        (&[Algorithm::Es256], false),
        (&[Algorithm::Ed25519, Algorithm::Rs256], false),
    ] {
        let profile = Profile::new("https://id.example", "api").expect("a profile");
        let verifier = Verifier::new(profile.algorithms(listed).expect("algorithms"));
        let error = verifier.verify(&keys, own.as_bytes(), NOW).err();
        let due = (!is_taken).then_some(TokenError::AlgNotAllowed);
        assert_eq!(error, due, "{listed:?}");
    }
}
