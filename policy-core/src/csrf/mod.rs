//! Cross-site request forgery: whether a request came from a page of this service.

#[cfg(feature = "engine")]
mod login;
#[cfg(feature = "engine")]
mod token;
#[cfg(feature = "engine")]
mod verdict;

#[cfg(feature = "engine")]
pub use login::admit_login;
#[cfg(feature = "engine")]
pub use token::{CsrfKey, TokenVerdict};
#[cfg(feature = "engine")]
pub use verdict::{OriginFacts, OriginVerdict, Provenance, origin_verdict};

/// The request header that carries the CSRF token, lower case.
pub const HEADER: &str = "x-csrf-token";

/// The CSRF protection of a route for state-changing requests with an ambient credential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CsrfPolicy {
    /// Its origin is one of ours, and it carries the session's token.
    #[default]
    Token,
    /// Its origin is one of ours.
    Origin,
    /// Nothing, for this reason.
    Exempt(&'static str),
}
