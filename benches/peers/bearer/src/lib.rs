//! Signed tokens by jsonwebtoken, for frameworks without tokens.

use std::sync::LazyLock;

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};

static KEY: LazyLock<DecodingKey> = LazyLock::new(|| DecodingKey::from_secret(contract::SECRET));
static VALIDATION: LazyLock<Validation> = LazyLock::new(|| Validation::new(Algorithm::HS256));

/// jsonwebtoken checks `exp` itself.
#[derive(serde::Deserialize)]
struct Claims {
    sub: String,
}

/// The subject of the token in an `Authorization` header, if it is valid.
pub fn subject(authorization: Option<&[u8]>) -> Option<String> {
    let token = authorization?.strip_prefix(b"Bearer ")?;
    Some(decode::<Claims>(token, &KEY, &VALIDATION).ok()?.claims.sub)
}
