//! Signs tokens by hand, with AWS-LC.

use aws_lc_rs::{
    encoding::AsDer,
    hmac,
    rand::SystemRandom,
    rsa::KeySize,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256,
        RsaKeyPair,
    },
};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use policy_core::token::Key;
use serde_json::{Value, json};

pub(crate) enum Pair {
    Es256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rs256(Box<RsaKeyPair>),
}

/// A key pair and the id that its issuer gave it.
pub(crate) struct Signer {
    pub(crate) id: String,
    pub(crate) pair: Pair,
}

#[derive(Clone, Copy)]
pub(crate) struct Claims<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) audience: &'a str,
    pub(crate) subject: &'a str,
    pub(crate) id: &'a str,
    pub(crate) issued: u64,
    pub(crate) lifetime: u64,
}

impl Claims<'_> {
    pub(crate) fn json(&self) -> Value {
        json!({
            "iss": self.issuer, "aud": self.audience, "sub": self.subject, "jti": self.id,
            "iat": self.issued, "exp": self.issued + self.lifetime,
        })
    }
}

impl Signer {
    pub(crate) fn es256(id: &str) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        Self { id: id.to_owned(), pair: Pair::Es256(pair) }
    }

    pub(crate) fn ed25519(id: &str) -> Self {
        Self { id: id.to_owned(), pair: Pair::Ed25519(Ed25519KeyPair::generate().unwrap()) }
    }

    pub(crate) fn rs256(id: &str) -> Self {
        let pair = Box::new(RsaKeyPair::generate(KeySize::Rsa2048).unwrap());
        Self { id: id.to_owned(), pair: Pair::Rs256(pair) }
    }

    pub(crate) fn algorithm(&self) -> &'static str {
        match self.pair {
            Pair::Es256(_) => "ES256",
            Pair::Ed25519(_) => "EdDSA",
            Pair::Rs256(_) => "RS256",
        }
    }

    pub(crate) fn token(&self, claims: Claims<'_>) -> String {
        self.token_with(claims, &json!({}))
    }

    /// A token with other claims too, or with other values of these.
    pub(crate) fn token_with(&self, claims: Claims<'_>, others: &Value) -> String {
        let header = json!({ "alg": self.algorithm(), "typ": "at+jwt", "kid": self.id });
        let mut claims = claims.json();
        claims.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        self.sign(&header, &claims)
    }

    /// A token with any header and claims.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let random = SystemRandom::new();
        let signature = match &self.pair {
            Pair::Es256(pair) => pair.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
            Pair::Ed25519(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
            Pair::Rs256(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let message = message.as_bytes();
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
        };
        format!("{message}.{}", BASE64URL_NOPAD.encode(&signature))
    }

    /// The public key as its issuer publishes it (RFC 7518 6, RFC 8037 2).
    pub(crate) fn jwk(&self) -> Value {
        let text = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        let id = &self.id;
        match &self.pair {
            Pair::Es256(pair) => {
                let point = pair.public_key().as_ref();
                assert_eq!((point[0], point.len()), (4, 65));
                let (x, y) = (text(&point[1..33]), text(&point[33..]));
                json!({ "kty": "EC", "crv": "P-256", "kid": id, "x": x, "y": y })
            }
            Pair::Ed25519(pair) => {
                let x = text(pair.public_key().as_ref());
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": x })
            }
            Pair::Rs256(pair) => {
                let der = pair.public_key().as_ref();
                // A sequence of the modulus, with a leading zero, and 65537.
                assert_eq!(der[..9], [0x30, 0x82, 0x01, 0x0a, 0x02, 0x82, 0x01, 0x01, 0x00]);
                json!({ "kty": "RSA", "kid": id, "n": text(&der[9..265]), "e": "AQAB" })
            }
        }
    }

    /// The public key as an app configures it.
    pub(crate) fn public(&self) -> Key {
        self.public_as(&self.id)
    }

    pub(crate) fn public_as(&self, id: &str) -> Key {
        let key = match &self.pair {
            Pair::Es256(pair) => {
                Key::es256_public(id, pair.public_key().as_der().unwrap().as_ref())
            }
            Pair::Ed25519(pair) => {
                Key::ed25519_public(id, pair.public_key().as_der().unwrap().as_ref())
            }
            Pair::Rs256(pair) => {
                Key::rs256_public(id, pair.public_key().as_der().unwrap().as_ref())
            }
        };
        key.unwrap()
    }
}

/// RFC 7468.
pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64.encode(der);
    let lines: Vec<_> =
        text.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// An HS256 token with this secret.
pub(crate) fn hs256(id: &str, secret: &[u8], claims: Claims<'_>) -> String {
    hs256_of(id, secret, &claims.json())
}

/// An HS256 token with this secret and any claims.
pub(crate) fn hs256_of(id: &str, secret: &[u8], claims: &Value) -> String {
    let header = json!({ "alg": "HS256", "typ": "at+jwt", "kid": id });
    let message = message(&header, claims);
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
    format!("{message}.{}", BASE64URL_NOPAD.encode(tag.as_ref()))
}

pub(crate) fn message(header: &Value, claims: &Value) -> String {
    let text = |json: &Value| BASE64URL_NOPAD.encode(json.to_string().as_bytes());
    format!("{}.{}", text(header), text(claims))
}
