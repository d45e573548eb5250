//! The names of a session: the secret one, the stored one and the public one.

use std::{fmt, str::FromStr};

use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use crate::base64url;

/// The secret that a cookie carries: 32 random bytes, as 43 characters of base64url.
///
/// It is wiped when it is dropped, and nothing prints it.
///
/// ```
/// use policy_core::session::SessionId;
///
/// let id = SessionId::from_bytes([7; 32]);
/// let text = id.text();
/// assert_eq!(SessionId::parse(text.as_bytes()).unwrap().key(), id.key());
/// assert!(SessionId::parse(b"short").is_none());
/// assert_eq!(format!("{id:?}"), "SessionId(..)");
/// ```
#[derive(Clone)]
pub struct SessionId([u8; 32]);

impl SessionId {
    /// An id of bytes that a random source filled.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads the canonical text of an id; `None` for any other text.
    pub fn parse(text: &[u8]) -> Option<Self> {
        base64url::decode_exact(text).map(Self)
    }

    /// The text that the cookie carries.
    pub fn text(&self) -> String {
        base64url::encode(&self.0)
    }

    /// The bytes, for deriving from them.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key under which a store keeps the session.
    pub fn key(&self) -> SessionKey {
        SessionKey(Sha256::digest(self.0).into())
    }
}

impl Drop for SessionId {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(..)")
    }
}

/// The SHA-256 of a [`SessionId`]. Stores keep only this, so that a reader of a store cannot take
/// over its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey(pub [u8; 32]);

/// The public name of a session, by which its user lists and ends it. It stays the same when the
/// session id changes, and gives no access.
///
/// ```
/// use policy_core::session::Handle;
///
/// let handle: Handle = "AAECAwQFBgcICQoLDA0ODw".parse()?;
/// assert_eq!(handle.to_string(), "AAECAwQFBgcICQoLDA0ODw");
/// assert!("AAECAwQFBgcICQoLDA0OD".parse::<Handle>().is_err());
/// # Ok::<(), policy_core::session::HandleError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub [u8; 16]);

impl Handle {
    /// Reads the text of a handle.
    pub fn parse(text: &str) -> Option<Self> {
        base64url::decode_exact(text.as_bytes()).map(Self)
    }
}

/// Lets a handler take a handle from its path.
impl FromStr for Handle {
    type Err = HandleError;

    fn from_str(text: &str) -> Result<Self, HandleError> {
        Self::parse(text).ok_or(HandleError)
    }
}

/// A text that is not a [`Handle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandleError;

impl fmt::Display for HandleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the name of a session")
    }
}

impl std::error::Error for HandleError {}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base64url::encode(&self.0))
    }
}
