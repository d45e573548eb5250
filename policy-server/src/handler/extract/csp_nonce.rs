//! The nonce of a page's Content-Security-Policy, as a handler argument.

use std::fmt;

use axum_core::extract::FromRequestParts;
use http::request::Parts;
use policy_core::headers::Nonce;

use super::ContextRejection;

/// The nonce that the Content-Security-Policy of this response allows (CSP 3, 8.1): elements with
/// it in their attribute `nonce` run, injected ones do not.
///
/// It differs for every response. `Display` writes it in base64, which needs no escaping in HTML:
///
/// ```
/// use policy_server::prelude::*;
///
/// fn page(nonce: &CspNonce) -> String {
///     format!("<script nonce=\"{nonce}\" src=\"/shop.js\"></script>")
/// }
/// ```
///
/// A route whose policy has no nonce responds with 500, and the log states how to fix it.
#[derive(Clone, PartialEq, Eq)]
pub struct CspNonce(Nonce);

impl CspNonce {
    /// The nonce in base64.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for CspNonce {
    type Rejection = ContextRejection;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ContextRejection> {
        match parts.extensions.get() {
            Some(nonce) => Ok(Self(Nonce::clone(nonce))),
            None => Err(ContextRejection::NO_NONCE),
        }
    }
}

impl fmt::Display for CspNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Keeps the nonce out of logs.
impl fmt::Debug for CspNonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CspNonce")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nonce_is_the_same_text_everywhere_but_in_logs() {
        let (nonce, text) = (CspNonce(Nonce::from_bytes([0; 16])), "AAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!((nonce.to_string().as_str(), nonce.as_str()), (text, text));
        assert_eq!(format!("{nonce:?}"), "CspNonce");
    }
}
