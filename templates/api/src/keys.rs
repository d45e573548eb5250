//! The keys of programs: only their digests are known here.

use std::{collections::HashMap, env, fmt, io};

use policy_server::{AuthError, Identity, Scheme, SchemeRequest};
use sha2::{Digest as _, Sha256};

/// The programs that have a key, sent as `X-Api-Key`.
#[derive(Clone, Default)]
pub struct ApiKeys {
    /// The SHA-256 of each key, and the name of its program. Looking for the digest takes no time
    /// from which the key could be guessed.
    names: HashMap<[u8; 32], String>,
}

impl Scheme for ApiKeys {
    /// A browser sends the field only where the script of a page sets it.
    const AMBIENT: bool = false;

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        let Some(key) = request.headers().get("x-api-key") else { return Ok(None) };
        let digest: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        let name = self.names.get(&digest).ok_or(AuthError::Invalid)?;
        Ok(Some(Identity::new(name)))
    }
}

impl ApiKeys {
    /// Reads `API_KEYS`.
    ///
    /// # Errors
    ///
    /// It is not set or malformed: says what to write.
    pub fn from_env() -> io::Result<Self> {
        let text = env::var("API_KEYS").unwrap_or_default();
        Self::parse(&text).ok_or_else(|| {
            io::Error::other(
                "API_KEYS has to be the names of programs and the digests of their keys\n\
                 help: export API_KEYS=\"me $(printf secret | sha256sum | cut -d' ' -f1)\"",
            )
        })
    }

    /// Names and digests in hexadecimal, a space between them, separated by commas.
    pub fn parse(text: &str) -> Option<Self> {
        let entries = text.split(',').map(|entry| {
            let (name, digest) = entry.trim().split_once(' ')?;
            Some((digest_of_hex(digest.trim())?, name.to_owned()))
        });
        Some(Self { names: entries.collect::<Option<_>>()? })
    }
}

fn digest_of_hex(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(digest)
}

/// The names alone.
impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names.values()).finish()
    }
}
