//! Which issuer a token belongs to, and which key verifies it.

use axum::http::StatusCode;
use serde_json::json;

use super::*;
use crate::{
    http,
    issuers::signing::{hs256, message},
};

const A: &str = "https://a.example";
const B: &str = "https://b.example";

#[tokio::test]
async fn every_algorithm_of_an_issuer_is_accepted() {
    let keys = [Signer::es256("e"), Signer::ed25519("d"), Signer::rs256("r")];
    let (caller, _) = Caller::new(own_tokens().accept(issuer(A, &keys.each_ref())), &[A]);
    for key in &keys {
        let response = caller.me(&key.token(claims(A))).await;
        assert_eq!(response, (StatusCode::OK, format!("ada of {A}")), "{}", key.algorithm());
    }
    let own = caller.own_token().await;
    assert_eq!(caller.me(&own).await, (StatusCode::OK, "ada of this app".to_owned()));
}

#[tokio::test]
async fn the_key_of_one_issuer_says_nothing_for_another() {
    let (a, b) = (Signer::es256("a"), Signer::es256("b"));
    let tokens = own_tokens().accept(issuer(A, &[&a])).accept(issuer(B, &[&b]));
    let (caller, _) = Caller::new(tokens, &[A, B]);
    assert_eq!(caller.status(&a.token(claims(A))).await, 200);
    assert_eq!(caller.status(&a.token(claims(B))).await, 401);
    assert_eq!(caller.status(&b.token(claims(A))).await, 401);
    let as_us = Claims { audience: ORIGIN, ..claims(ORIGIN) };
    assert_eq!(caller.status(&a.token(as_us)).await, 401, "not for this app itself either");
    let renamed = Signer { id: "b".to_owned(), pair: a.pair };
    assert_eq!(caller.status(&renamed.token(claims(A))).await, 401, "under the other's id");
    assert_eq!(caller.status(&renamed.token(claims(B))).await, 401);
}

#[tokio::test]
async fn equal_key_ids_of_two_issuers_are_kept_apart() {
    let (a, b) = (Signer::es256("k"), Signer::ed25519("k"));
    for tokens in [
        own_tokens().accept(issuer(A, &[&a])).accept(issuer(B, &[&b])),
        own_tokens().accept(issuer(B, &[&b])).accept(issuer(A, &[&a])),
    ] {
        let (caller, _) = Caller::new(tokens, &[A, B]);
        assert_eq!(caller.me(&a.token(claims(A))).await.1, format!("ada of {A}"));
        assert_eq!(caller.me(&b.token(claims(B))).await.1, format!("ada of {B}"));
        assert_eq!(caller.status(&a.token(claims(B))).await, 401);
        assert_eq!(caller.status(&b.token(claims(A))).await, 401);
        let expired = a.token(Claims { issued: START - 1000, ..claims(A) });
        let response = caller.send("GET", "/me", &expired).await;
        assert_eq!(http::problem(&response), (401, "auth.token-expired".to_owned()));
    }
}

#[tokio::test]
async fn an_issuer_may_use_the_id_of_an_own_key() {
    let a = Signer::ed25519("own");
    let (caller, _) = Caller::new(own_tokens().accept(issuer(A, &[&a])), &[A]);
    assert_eq!(caller.me(&a.token(claims(A))).await.1, format!("ada of {A}"));
    let own = caller.own_token().await;
    assert_eq!(caller.me(&own).await.1, "ada of this app");
}

#[tokio::test]
async fn no_algorithm_but_that_of_the_key_is_used() {
    let (rsa, ec) = (Signer::rs256("r"), Signer::es256("e"));
    let (caller, _) = Caller::new(own_tokens().accept(issuer(A, &[&rsa, &ec])), &[A]);
    let header = |alg: &str, id: &str| json!({ "alg": alg, "typ": "at+jwt", "kid": id });
    let all = claims(A).json();
    assert_eq!(caller.status(&rsa.sign(&header("RS256", "r"), &all)).await, 200, "the baseline");
    // A public key is public: its text or bytes must not work as an HMAC secret.
    let public = rsa.jwk()["n"].as_str().unwrap().to_owned();
    let refused = [
        rsa.sign(&header("ES256", "r"), &all),
        rsa.sign(&header("RS256", "e"), &all),
        rsa.sign(&header("PS256", "r"), &all),
        ec.sign(&header("ES256", "r"), &all),
        ec.sign(&header("EdDSA", "e"), &all),
        ec.sign(&header("none", "e"), &all),
        format!("{}.", message(&header("none", "e"), &all)),
        hs256("r", public.as_bytes(), claims(A)),
        hs256("own", public.as_bytes(), claims(A)),
    ];
    for (at, token) in refused.iter().enumerate() {
        assert_eq!(caller.status(token).await, 401, "{at}");
    }
}

#[tokio::test]
async fn a_token_without_the_id_of_a_key_is_of_no_other_issuer() {
    let a = Signer::es256("a");
    let (caller, _) = Caller::new(own_tokens().accept(issuer(A, &[&a])), &[A]);
    let headers = [
        json!({ "alg": "ES256", "typ": "at+jwt" }),
        json!({ "alg": "ES256", "typ": "at+jwt", "kid": null }),
        json!({ "alg": "ES256", "typ": "at+jwt", "kid": "b" }),
        json!({ "alg": "ES256", "typ": "at+jwt", "kid": "b", "jwk": a.jwk() }),
        json!({ "alg": "ES256", "typ": "at+jwt", "kid": "a", "crit": ["exp"] }),
    ];
    for header in headers {
        assert_eq!(caller.status(&a.sign(&header, &claims(A).json())).await, 401, "{header}");
    }
}

#[tokio::test]
async fn the_profile_of_the_issuer_is_the_one_that_counts() {
    let a = Signer::es256("a");
    let generic = json!({ "alg": "ES256", "typ": "JWT", "kid": "a" });
    let untyped = json!({ "alg": "ES256", "kid": "a" });
    let typed = json!({ "alg": "ES256", "typ": "at+jwt", "kid": "a" });
    let long = Claims { lifetime: 7200, ..claims(A) };
    let ours = Claims { audience: ORIGIN, ..claims(A) };
    let strict = issuer(A, &[&a]);
    let open = issuer(A, &[&a])
        .generic_type()
        .max_lifetime(std::time::Duration::from_secs(7200))
        .audience(ORIGIN);
    let (strict, _) = Caller::new(own_tokens().accept(strict), &[A]);
    let (open, _) = Caller::new(own_tokens().accept(open), &[A]);
    for (header, claims, statuses) in [
        (&typed, claims(A), [200, 401]),
        (&generic, claims(A), [401, 401]),
        (&generic, ours, [401, 200]),
        (&untyped, ours, [401, 200]),
        (&typed, ours, [401, 401]),
        (&typed, long, [401, 401]),
        (&generic, Claims { lifetime: 7200, ..ours }, [401, 200]),
    ] {
        let token = a.sign(header, &claims.json());
        assert_eq!([strict.status(&token).await, open.status(&token).await], statuses, "{header}");
    }
}
