//! ES256 and Ed25519 keys for the app's own tokens.

use std::fs;

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair,
        Ed25519KeyPair, KeyPair, UnparsedPublicKey,
    },
};
use data_encoding::BASE64URL_NOPAD;
use policy_server::{Rule, tokens::TokenKeys};
use policy_tests::folder::Folder;

use super::*;
use crate::issuers::signing::pem;

fn es256() -> (Vec<u8>, UnparsedPublicKey<Vec<u8>>) {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let public = pair.public_key().as_ref().to_vec();
    let private = pair.to_pkcs8v1().unwrap().as_ref().to_vec();
    (private, UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public))
}

fn ed25519() -> (Vec<u8>, UnparsedPublicKey<Vec<u8>>) {
    let pair = Ed25519KeyPair::generate().unwrap();
    let public = pair.public_key().as_ref().to_vec();
    let private = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).unwrap().as_ref().to_vec();
    (private, UnparsedPublicKey::new(&ED25519, public))
}

/// Whether AWS-LC verifies the signature.
fn is_signed(token: &str, public: &UnparsedPublicKey<Vec<u8>>) -> bool {
    let (message, signature) = token.rsplit_once('.').unwrap();
    let signature = BASE64URL_NOPAD.decode(signature.as_bytes()).unwrap();
    public.verify(message.as_bytes(), &signature).is_ok()
}

#[tokio::test]
async fn own_tokens_can_be_verified_with_the_public_key() {
    let (ec, ec_public) = es256();
    let (ed, ed_public) = ed25519();
    for (tokens, public) in [
        (Tokens::es256("k", pem("PRIVATE KEY", &ec)).unwrap(), ec_public),
        (Tokens::ed25519("k", &ed).unwrap(), ed_public),
    ] {
        let (caller, _) = Caller::new(tokens, &[]);
        let token = caller.own_token().await;
        assert!(is_signed(&token, &public));
        assert_eq!(caller.me(&token).await.1, "ada of this app");
    }
    assert!(Tokens::es256("k", &ed).is_err() && Tokens::ed25519("k", &ec).is_err());
}

#[tokio::test]
async fn keys_can_change_their_algorithm() {
    let (ed, public) = ed25519();
    let folder = Folder::new().unwrap();
    let file = folder.path().join("keys");
    fs::write(folder.path().join("2.pem"), pem("PRIVATE KEY", &ed)).unwrap();
    fs::write(&file, format!("1 {}\n", "ab".repeat(16) + &"cd".repeat(16))).unwrap();
    let keys = TokenKeys::read(&file).unwrap();
    let (caller, clock) = Caller::new(Tokens::signed_with(keys.clone()), &[]);
    let old = caller.own_token().await;
    fs::write(&file, "2 ed25519 2.pem\n").unwrap();
    keys.reload(&file).unwrap();
    clock.advance(std::time::Duration::from_secs(300));
    let new = caller.own_token().await;
    assert!(is_signed(&new, &public) && !is_signed(&old, &public));
    assert_eq!([caller.status(&old).await, caller.status(&new).await], [200, 200]);
    for (line, error) in [
        ("2 es256 2.pem", Rule::KeyEncoding),
        ("2 ed25519 3.pem", Rule::KeyFile),
        ("2 rs256 2.pem", Rule::SecretEncoding),
        ("2", Rule::KeyLine),
        ("../2 a9c1f84c2d6e7b305182937465f0e1d2c3b4a5968778695a4b3c2d1e0f102030", Rule::KeyId),
    ] {
        fs::write(&file, line).unwrap();
        let found = keys.reload(&file).unwrap_err();
        assert_eq!(found.rule(), error, "{found}");
        assert!(found.to_string().contains(": line 1: "), "{found}");
        let text = policy_server::Error::from(found).to_string();
        assert!(text.contains(&format!("({})", error.code())), "{text}");
    }
    assert_eq!(caller.status(&new).await, 200);
}
