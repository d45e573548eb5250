//! Examples of the standards.

use data_encoding::BASE64URL_NOPAD;
use policy_core::{
    secret::SecretKey,
    time::Timestamp,
    token::{Algorithm, Key, KeyRing, RingKey, TokenError, verify_jws},
};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// The token verifies, and is refused with its last payload byte changed.
fn assert_signed(key: Key, token: &str, payload: &[u8]) {
    let algorithms = [key.algorithm()];
    let keys = KeyRing::new(vec![RingKey::new(key)]).expect("a ring");
    let verified = verify_jws(&keys, &algorithms, token.as_bytes(), NOW);
    assert_eq!(verified.as_deref(), Ok(payload));
    let (message, signature) = token.rsplit_once('.').expect("three segments");
    let changed = format!("{message}A.{signature}");
    let fault = verify_jws(&keys, &algorithms, changed.as_bytes(), NOW).expect_err("a fault");
    assert_eq!(fault, TokenError::BadSignature);
}

#[test]
fn the_example_of_rfc_7515_a_1_is_verified() {
    let secret =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    let secret = BASE64URL_NOPAD.decode(secret.as_bytes()).expect("base64url");
    let key = Key::hs256("a", &SecretKey::new(&secret).expect("a secret")).expect("a key");
    assert_eq!(key.algorithm(), Algorithm::Hs256);
    let token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let payload =
        "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}";
    assert_signed(key, token, payload.as_bytes());
}

#[test]
fn the_example_of_rfc_8037_a_4_is_verified() {
    let document = br#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
    let jwks = policy_core::token::Jwks::parse(document).expect("a set of keys");
    let key = jwks.keys.into_iter().next().expect("a key");
    let token = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    assert_signed(key, token, b"Example of Ed25519 signing");
}
