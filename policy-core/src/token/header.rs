//! The header of a token that does not begin with a prepared header of this server.

use super::{
    Algorithm, KeyRing, RingKey, TokenError,
    json::{Malformed, Scanner},
};
use crate::base64url;

/// The header members that are used. Embedded keys and key addresses (`jwk`, `jku`, `x5c`, `x5u`)
/// are ignored.
#[derive(Default)]
pub(super) struct Header {
    alg: String,
    typ: Option<String>,
    kid: Option<Option<String>>,
    is_critical: bool,
}

impl Header {
    /// Reads the first segment of a token.
    pub(super) fn parse(segment: &[u8]) -> Result<Self, TokenError> {
        let mut json = Vec::new();
        base64url::decode(segment, &mut json).ok_or(TokenError::Malformed)?;
        let json = str::from_utf8(&json).map_err(|_utf8| TokenError::Malformed)?;
        let mut header = Self::default();
        let mut alg = None;
        let mut scanner = Scanner::new(json);
        scanner.document(|scanner, name| {
            match name {
                b"alg" => alg = scanner.optional_string()?,
                b"typ" => header.typ = Some(scanner.optional_string()?.ok_or(Malformed)?),
                b"kid" => header.kid = Some(scanner.optional_string()?),
                b"crit" | b"b64" => {
                    header.is_critical = true;
                    scanner.skip()?;
                }
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        header.alg = alg.ok_or(TokenError::Malformed)?;
        Ok(header)
    }

    /// The id of a key that this header names.
    #[cfg(feature = "asym")]
    pub(super) fn into_key_id(self) -> Option<String> {
        self.kid.flatten()
    }

    /// The key that this header names, if it may be used for this algorithm. It may be retired.
    pub(super) fn key<'k>(
        &self,
        keys: &'k KeyRing,
        allowed: &[Algorithm],
        is_type: impl FnOnce(Option<&str>) -> bool,
    ) -> Result<&'k RingKey, TokenError> {
        if self.is_critical {
            return Err(TokenError::UnsupportedCritical);
        }
        let algorithm = Algorithm::from_name(&self.alg).filter(|it| allowed.contains(it));
        let algorithm = algorithm.ok_or(TokenError::AlgNotAllowed)?;
        if !is_type(self.typ.as_deref()) {
            return Err(TokenError::WrongType);
        }
        let key = match &self.kid {
            None => keys.by_id(None),
            // An id that no key can have is not looked up: ids of a ring are validated.
            Some(id) => id.as_deref().and_then(|id| keys.by_id(Some(id))),
        };
        let entry = key.ok_or(TokenError::UnknownKey)?;
        if entry.key.algorithm() == algorithm { Ok(entry) } else { Err(TokenError::AlgNotAllowed) }
    }
}
