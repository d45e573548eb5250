//! Whole tokens, from the first byte.

use policy_core::token::{Key, KeyRing, Profile, RingKey, Verifier};
use policy_server::{Timestamp, tokens::SecretKey};

use crate::{
    engine::{Seen, Target, bounded, magnitude},
    verdict::{AUDIENCE, ISSUER, NOW, SECRETS, Says, Verdict, verdict},
};

thread_local! {
    static KEYS: KeyRing = KeyRing::new(
        SECRETS.iter().map(|(id, secret)| {
            let secret = SecretKey::new(secret).expect("a secret");
            RingKey::new(Key::hs256(id, &secret).expect("a key"))
        }).collect(),
    ).expect("a ring");
    static VERIFIER: Verifier = Verifier::new(Profile::new(ISSUER, AUDIENCE).expect("a profile"));
}

/// The verdict of the verifier on a token.
pub(super) fn verified(token: &[u8]) -> Verdict {
    let verify = |verifier: &Verifier, keys: &KeyRing| {
        let verified = verifier.verify(keys, token, Timestamp::from_seconds(NOW));
        verified.map_err(|fault| fault.detail().to_owned())
    };
    let token = bounded(token.len(), || KEYS.with(|keys| VERIFIER.with(|it| verify(it, keys))))?;
    let claims = token.claims();
    Ok(Says {
        subject: claims.subject().to_owned(),
        id: claims.id().to_owned(),
        session: claims.session().map(str::to_owned),
        scopes: claims.scopes().map(str::to_owned).collect(),
        roles: claims.roles().map(Into::into).collect(),
        tenant: claims.tenant().map(str::to_owned),
        expires: claims.expires().seconds(),
        payload: claims.payload().trim_end_matches([' ', '\t', '\n', '\r']).to_owned(),
    })
}

/// Checks one token; the shape distinguishes tokens with the same verdict.
pub(super) fn check_token(token: &[u8], shape: u64) -> Seen {
    let found = verified(token);
    if let Some(expected) = verdict(token) {
        assert_eq!(found, expected, "{}", token.escape_ascii());
    }
    let is_malformed =
        matches!(found.as_ref().err().map(|code| &**code), Some("malformed" | "too_large"));
    Seen::new(!is_malformed, (found.err(), shape))
}

fn check(token: &[u8]) -> Seen {
    let dots = token.iter().filter(|byte| **byte == b'.').count().min(4);
    check_token(token, dots as u64 * 64 + u64::from(magnitude(token.len())))
}

#[test]
fn a_token_gets_the_verdict_of_a_second_reading() {
    Target {
        name: "token",
        corpus: include_str!("../corpus/token.txt"),
        dictionary: &[
            b".",
            b"..",
            b"eyJhbGciOiJIUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6ImEifQ",
            b"e30",
            b"=",
            b"+",
            b"/",
            b"\x00",
            b"A",
        ],
        max_len: 4_200,
        check,
    }
    .run();
}
