//! Signed access tokens, refresh tokens and tickets of an app: their settings, the handler
//! argument, and the service that verifies them.

#[cfg(feature = "asym")]
mod external;
mod in_request;
mod issued;
mod key_file;
mod keys;
mod revocation_cache;
mod service;
mod settings;
#[cfg(test)]
mod tests;
mod unstored;
mod verified;

#[cfg(feature = "asym")]
pub use external::Issuer;
pub(crate) use in_request::Caller;
pub use in_request::Tokens;
#[cfg(feature = "asym")]
pub use in_request::{ForeignToken, ForeignUser};
pub use issued::IssuedTokens;
pub use key_file::KeyFileError;
pub use keys::{IntoKeys, TokenKeys};
pub(crate) use service::TokenService;
pub use settings::{OnStale, TokenSettings};
pub(crate) use verified::{VerifiedToken, foreign_issuer_of, scoped};
