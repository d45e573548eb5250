//! Signed access tokens, refresh tokens and tickets of an app: their settings, what handlers do
//! with them, and the service that checks them.

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
mod verified;

#[cfg(feature = "asym")]
pub use external::Issuer;
pub(crate) use in_request::Caller;
pub use in_request::InRequest;
pub use issued::Issued;
pub use key_file::{KeyFileError, KeyLineError};
pub use keys::{IntoKeys, TokenKeys};
pub(crate) use service::TokenService;
pub use settings::{OnStale, Settings};
pub(crate) use verified::{Verified, foreign_issuer_of, scoped};

/// Tokens: their settings, and in a handler what to do with them.
///
/// The settings begin with the keys; everything else has a default.
///
/// ```
/// use policy_server::{Tokens, tokens::SecretKey};
///
/// let secret = SecretKey::decode("/9ylw38tQfz6gRMxEYZzv2V4mKJ0mNUSgAOC3kKJB54=").unwrap();
/// let tokens = Tokens::hs256(secret)?;
/// # Ok::<(), policy_server::tokens::KeyError>(())
/// ```
///
/// In a handler, `tokens: Tokens` issues, refreshes and revokes:
///
/// ```
/// use policy_server::{Problem, Identity, Tokens, tokens::Issued};
///
/// async fn token(tokens: Tokens) -> Result<Issued, Problem> {
///     // Once a password or the like was checked:
///     tokens.login(Identity::new("ada").scopes(["reports:read"])).await
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Tokens<T = InRequest>(T);
