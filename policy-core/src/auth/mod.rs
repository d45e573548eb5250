//! Who may call a route.

#[cfg(feature = "engine")]
mod bearer;
#[cfg(feature = "engine")]
mod challenge;
#[cfg(feature = "engine")]
mod next;

#[cfg(feature = "engine")]
pub use bearer::{Authorization, authorization};
#[cfg(feature = "engine")]
pub use challenge::{ChallengeError, Challenges};
#[cfg(feature = "engine")]
pub use next::local_path;

/// How a route learns who calls it, and what they must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AuthPolicy {
    /// Anybody may call, and nobody is asked who they are.
    Public,
    /// Who calls is asked, by one of these credentials.
    Required(Requirement),
}

/// The credentials that a route takes, and what whoever shows them must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requirement {
    /// The cookie of a session.
    pub session: bool,
    /// A bearer token (RFC 6750).
    pub token: bool,
    /// A single-use ticket in the query, for what cannot send `Authorization`.
    pub ticket: bool,
    /// A scheme of the application's own.
    pub scheme: Option<OwnScheme>,
    /// Whether a caller without any of them is let in as nobody.
    pub optional: bool,
    /// Scopes, all of which are needed.
    pub scopes: &'static [&'static str],
    /// Roles, one of which is needed; none asks for none.
    pub roles: &'static [&'static str],
    /// The most seconds since the user last proved who they are.
    pub fresh: Option<u32>,
}

/// An application's own scheme, as a policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnScheme {
    /// Its name, as it is written in the attribute.
    pub name: &'static str,
    /// Whether browsers send its credential by themselves, as they do cookies, Basic and client
    /// certificates.
    pub ambient: bool,
}
