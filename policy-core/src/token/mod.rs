//! Signed tokens: JSON Web Tokens in the compact form (RFC 7515, RFC 7519).

mod opaque;
mod refresh;
mod revocation;

pub use opaque::{OpaqueKind, OpaqueToken};
pub use refresh::RefreshKey;
pub use revocation::{RevocationSet, Standing};
