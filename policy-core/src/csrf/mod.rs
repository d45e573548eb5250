//! Cross-site request forgery: whether a request came from a page of this service.

#[cfg(feature = "engine")]
mod login;
#[cfg(feature = "engine")]
mod provenance;
#[cfg(feature = "engine")]
mod token;
#[cfg(feature = "engine")]
mod verdict;

use std::fmt;

#[cfg(feature = "engine")]
pub use login::admit_login;
#[cfg(feature = "engine")]
pub use provenance::Provenance;
#[cfg(feature = "engine")]
pub use token::{CsrfKey, TokenVerdict};
#[cfg(feature = "engine")]
pub use verdict::{OriginFacts, OriginVerdict, origin_verdict};

/// The request header that carries the CSRF token, lower case.
pub const HEADER: &str = "x-csrf-token";

/// The CSRF protection of a route for state-changing requests with an ambient credential. All
/// variants except the exemption refuse requests from untrusted pages.
///
/// It is displayed as the attribute writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CsrfPolicy {
    /// The session's token, and a trusted origin or headers that do not state one. Without a
    /// session, a trusted origin.
    #[default]
    Token,
    /// A trusted origin; or headers that do not state one, and the session's token. Browsers state
    /// their origin, programs need not. Without a session, a trusted origin.
    OriginElseToken,
    /// A trusted origin.
    Origin,
    /// No check, for this reason.
    Exempt(&'static str),
}

impl fmt::Display for CsrfPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token => f.write_str("token"),
            Self::OriginElseToken => f.write_str("origin_else_token"),
            Self::Origin => f.write_str("origin"),
            Self::Exempt(reason) => write!(f, "exempt = {reason:?}"),
        }
    }
}
