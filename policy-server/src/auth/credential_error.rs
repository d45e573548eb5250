//! Errors of operations on sessions and tokens.

use std::{error::Error, fmt};

use policy_core::{
    Refusal,
    problem::DeclaredProblem,
    session::{DataError, Identity},
};

use crate::{
    base::{
        escape::printable,
        event::log,
        problem::{Problem, Problems, rejection},
    },
    store::StoreError,
};

/// Why an operation of a handler on its session, on the sessions of a user, or on tokens failed.
///
/// It converts into a [`Problem`], so that a handler can use `?`:
///
/// ```
/// use policy_server::{CredentialError, Session, Tokens, tokens::IssuedTokens};
///
/// async fn for_reports(session: Session, tokens: Tokens) -> Result<IssuedTokens, CredentialError> {
///     let user = session.identity().ok_or(CredentialError::Anonymous)?;
///     session.increment("reports", 1)?;
///     tokens.issue(&user)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CredentialError {
    /// The session store failed: 503.
    SessionStore,
    /// The token store failed: 503. The client keeps its credential and tries again.
    TokenStore,
    /// The operation needs a logged-in user: 401.
    Anonymous,
    /// The operation needs an authenticated caller: 401.
    NoCaller,
    /// The refresh token is invalid, whatever the reason: 401.
    RefreshRefused,
    /// A login or an elevation with a safe method that a browser does not send as a navigation of a
    /// window: 403.
    Navigation,
    /// The user was cut off after the request began: 409.
    Ended,
    /// The session belongs to another user; [`Sessions::login`](crate::Sessions::login) begins a
    /// new one: 500.
    OtherUser,
    /// The values of the session cannot be stored: 500.
    Data(DataError),
    /// A value, a claim, an identity or a key that the handler gave cannot be used: 500.
    Invalid(Box<str>),
}

impl CredentialError {
    /// An unusable value of the handler.
    pub(crate) fn invalid(reason: impl fmt::Display) -> Self {
        Self::Invalid(reason.to_string().into())
    }

    /// Refuses an identity with an invalid tenant: an empty name would match every object without
    /// one.
    pub(crate) fn check(identity: &Identity) -> Result<(), Self> {
        match identity.tenant.as_deref() {
            Some(tenant) if !Identity::is_tenant(tenant) => Err(Self::invalid(
                "the name of a tenant has 1 to 200 bytes; leave out the tenant of a user who has none",
            )),
            _ => Ok(()),
        }
    }

    /// Logs a failure of the session store, and returns the error.
    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    pub(crate) fn session_store(error: StoreError) -> Self {
        log!(SessionStoreFailed, %error);
        Self::SessionStore
    }

    /// Logs a failure of the token store, and returns the error.
    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    pub(crate) fn token_store(error: StoreError) -> Self {
        log!(TokenStoreFailed, error = %printable(&error.to_string()));
        Self::TokenStore
    }

    pub(crate) fn problem(self) -> Problem {
        let refusal = match self {
            Self::SessionStore => Refusal::SessionStore,
            Self::TokenStore => Refusal::TokenStoreUnavailable,
            Self::Anonymous => Refusal::SessionAnonymous,
            Self::NoCaller => return Problem::unauthorized(),
            Self::RefreshRefused => Refusal::RefreshRefused,
            Self::Navigation => Refusal::LoginNavigation,
            Self::Ended => Refusal::SessionEnded,
            Self::OtherUser | Self::Data(_) | Self::Invalid(_) => return Problem::internal(self),
        };
        refusal.into()
    }
}

rejection!(CredentialError);

impl Problems for CredentialError {
    const PROBLEMS: &'static [DeclaredProblem] = &[
        DeclaredProblem::from_refusal(Refusal::SessionStore),
        DeclaredProblem::from_refusal(Refusal::TokenStoreUnavailable),
        DeclaredProblem::from_refusal(Refusal::SessionAnonymous),
        // `Self::NoCaller` has no code.
        DeclaredProblem::new(401, None, None),
        DeclaredProblem::from_refusal(Refusal::RefreshRefused),
        DeclaredProblem::from_refusal(Refusal::LoginNavigation),
        DeclaredProblem::from_refusal(Refusal::SessionEnded),
        DeclaredProblem::from_refusal(Refusal::Internal),
    ];
}

impl fmt::Display for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SessionStore => "the session store is unavailable",
            Self::TokenStore => "the token store is unavailable",
            Self::Anonymous => "no user is logged in",
            Self::NoCaller => "the caller is not authenticated",
            Self::RefreshRefused => "the refresh token is invalid",
            Self::Navigation => {
                "a login or elevation with a safe method has to be a navigation of a window"
            }
            Self::Ended => "the user was cut off meanwhile",
            Self::OtherUser => "only the user of the session can be given rights; use `login`",
            Self::Data(error) => return error.fmt(f),
            Self::Invalid(reason) => reason,
        })
    }
}

impl Error for CredentialError {}

impl From<&StoreError> for CredentialError {
    /// A session that could not be loaded. The store's error was logged where it occurred.
    fn from(_: &StoreError) -> Self {
        Self::SessionStore
    }
}

impl From<DataError> for CredentialError {
    fn from(error: DataError) -> Self {
        Self::Data(error)
    }
}

impl From<serde_json::Error> for CredentialError {
    fn from(error: serde_json::Error) -> Self {
        Self::invalid(format_args!("a value of the session: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_is_declared() {
        let errors = [
            CredentialError::SessionStore,
            CredentialError::TokenStore,
            CredentialError::Anonymous,
            CredentialError::NoCaller,
            CredentialError::RefreshRefused,
            CredentialError::Navigation,
            CredentialError::Ended,
            CredentialError::OtherUser,
            CredentialError::Invalid("why".into()),
        ];
        for error in errors {
            let text = error.clone().problem().to_string();
            let is = |declared: &DeclaredProblem| {
                text.starts_with(&declared.status.to_string())
                    && declared.code.is_none_or(|code| text.contains(code))
            };
            assert!(CredentialError::PROBLEMS.iter().any(is), "{error:?}: {text}");
        }
    }
}
