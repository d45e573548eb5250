//! Opaque tokens, of which a store keeps only the hash.

use std::fmt;

use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use crate::base64url;

/// The purpose of an opaque token. Its text begins with a prefix for the purpose, so that one kind
/// is not accepted as another and secret scanners find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OpaqueKind {
    /// `rt_`: a refresh token (RFC 6749 1.5).
    Refresh,
    /// `tk_`: a ticket, which opens one connection.
    Ticket,
}

impl OpaqueKind {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Refresh => "rt_",
            Self::Ticket => "tk_",
        }
    }
}

/// 32 secret bytes that a client presents, as a prefix and 43 characters of base64url.
///
/// They are wiped when the token is dropped, and nothing prints them.
///
/// ```
/// use policy_core::token::{OpaqueKind, OpaqueToken};
///
/// let token = OpaqueToken::from_bytes(OpaqueKind::Refresh, [7; 32]);
/// let text = token.text();
/// assert_eq!(text.len(), 46);
/// assert_eq!(OpaqueToken::parse(OpaqueKind::Refresh, &text).unwrap().hash(), token.hash());
/// assert!(OpaqueToken::parse(OpaqueKind::Ticket, &text).is_none());
/// assert_eq!(format!("{token:?}"), "OpaqueToken(Refresh)");
/// ```
#[derive(Clone)]
pub struct OpaqueToken {
    kind: OpaqueKind,
    bytes: [u8; 32],
}

impl OpaqueToken {
    /// A token of bytes that a random source filled.
    pub const fn from_bytes(kind: OpaqueKind, bytes: [u8; 32]) -> Self {
        Self { kind, bytes }
    }

    /// Reads the canonical text of a token of this kind; `None` for any other text.
    pub fn parse(kind: OpaqueKind, text: &str) -> Option<Self> {
        let encoded = text.strip_prefix(kind.prefix())?;
        Some(Self { kind, bytes: base64url::decode_exact(encoded.as_bytes())? })
    }

    /// The text that the client gets.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(46);
        text.push_str(self.kind.prefix());
        base64url::append(&self.bytes, &mut text);
        text
    }

    /// The bytes, for deriving from them.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// The SHA-256 of the bytes. Stores keep only this, so that a reader of a store gets no token.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.bytes).into()
    }
}

impl Drop for OpaqueToken {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

impl fmt::Debug for OpaqueToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpaqueToken").field(&self.kind).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_text_of_its_kind_is_read() {
        let text = OpaqueToken::from_bytes(OpaqueKind::Refresh, [0xff; 32]).text();
        assert!(text.ends_with("_8"), "two bits of the last character are padding");
        let spoiled = [
            text.replace("rt_", "tk_"),
            text.replace("rt_", "RT_"),
            text.replace("rt_", ""),
            format!("{text}="),
            format!("{text} "),
            text.replace("_8", "_9"),
            text.chars().take(45).collect(),
            format!("{text}A"),
            text.replace('8', "ä"),
            String::new(),
        ];
        assert!(OpaqueToken::parse(OpaqueKind::Refresh, &text).is_some());
        for text in spoiled {
            assert!(OpaqueToken::parse(OpaqueKind::Refresh, &text).is_none(), "{text}");
        }
    }
}
