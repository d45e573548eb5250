//! A token verifies only with a key of its issuer, whichever key signed it.

use std::cell::Cell;

use policy_core_tests::law::{Precondition, assert_usual, holds};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// The issuers with the indices and ids of their keys. They share ids, and the last two share a
/// key.
const ISSUERS: [(&str, &[(usize, &str)]); 3] = [
    ("https://a.example", &[(0, "x"), (1, "y")]),
    ("https://b.example", &[(2, "x"), (3, "z")]),
    ("https://c.example", &[(4, "y"), (3, "z")]),
];
const ALGORITHMS: [&str; 6] = ["ES256", "EdDSA", "Ed25519", "RS256", "HS256", "none"];
const IDS: [&str; 4] = ["x", "y", "z", "own"];

/// An attempt: the signing key, the key id and algorithm in the header, the issuer and audience.
#[derive(Clone, Debug)]
struct Attempt {
    signer: usize,
    id: usize,
    algorithm: usize,
    issuer: usize,
    is_for_us: bool,
}

fn attempts() -> impl Strategy<Value = Attempt> {
    // Mostly a key under an id that some issuer gave it.
    let known = prop::sample::select(vec![(0, 0), (1, 1), (2, 0), (3, 2), (4, 1)]);
    let key = prop_oneof![3 => known, 1 => (0..5_usize, 0..IDS.len())];
    (key, 0..3 * ALGORITHMS.len(), 0..4_usize, 0..8_u8).prop_map(
        |((signer, id), algorithm, issuer, audience)| Attempt {
            signer,
            id,
            algorithm,
            issuer,
            is_for_us: audience > 0,
        },
    )
}

#[test]
fn a_token_verifies_only_with_the_key_of_its_issuer() {
    let signers = [
        Signer::es256(""),
        Signer::ed25519(""),
        Signer::ed25519(""),
        Signer::ed25519(""),
        Signer::ed25519(""),
    ];
    let tokens = ISSUERS.iter().fold(own_tokens(), |tokens, (name, keys)| {
        let keys = keys.iter().map(|(place, id)| signers[*place].public_as(id));
        tokens.accept(Issuer::new(*name).audience("orders").keys(keys))
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (caller, _) = Caller::new(tokens, &ISSUERS.map(|(name, _)| name));
    let (tried, near) = (Cell::new(0), Cell::new(0));
    holds("issuers: accepted tokens", 18, attempts(), |attempt| {
        let signer = &signers[attempt.signer];
        let own = signer.algorithm();
        // Mostly the algorithm of the key.
        let algorithm = ALGORITHMS.get(attempt.algorithm).copied().unwrap_or(own);
        let id = IDS[attempt.id];
        let (issuer, keys) = ISSUERS.get(attempt.issuer).copied().unwrap_or((ORIGIN, &[]));
        let audience = if attempt.is_for_us { "orders" } else { "invoices" };
        let header = json!({ "alg": algorithm, "typ": "at+jwt", "kid": id });
        let token = signer.sign(&header, &Claims { audience, ..claims(issuer) }.json());

        let is_algorithm = algorithm == own || (own == "EdDSA" && algorithm == "Ed25519");
        let is_key = keys.contains(&(attempt.signer, id));
        let expected = if is_algorithm && is_key && attempt.is_for_us {
            (StatusCode::OK, format!("ada of {issuer}"))
        } else {
            (StatusCode::UNAUTHORIZED, String::new())
        };
        let is_known = ISSUERS.iter().any(|(_, keys)| keys.contains(&(attempt.signer, id)));
        tried.set(tried.get() + 1);
        near.set(near.get() + u64::from(is_known && is_algorithm && !is_key));
        let is_accepted = expected.0 == StatusCode::OK;
        prop_assert_eq!(runtime.block_on(caller.me(&token)), expected);
        Ok(Precondition::met_if(is_accepted))
    });
    assert_usual("issuers: in the name of another", near.get(), tried.get(), 42);
}
