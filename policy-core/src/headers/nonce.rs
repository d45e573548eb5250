//! The nonce of one page (CSP 3, 2.3.1 and 7.1).

use std::{fmt, sync::Arc};

use crate::base64url;

/// A nonce: the script and style elements of a page repeat it so that the browser runs them. 128
/// random bits as base64url.
///
/// ```
/// use policy_core::headers::Nonce;
///
/// assert_eq!(Nonce::from_bytes([0; 16]).as_str(), "AAAAAAAAAAAAAAAAAAAAAA");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonce(Arc<str>);

impl Nonce {
    /// Makes a nonce of unpredictable bytes.
    pub fn from_bytes(random: [u8; 16]) -> Self {
        let mut text = String::new();
        base64url::append(&random, &mut text);
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
