//! The sender of a request, described by its credentials.

/// The credentials of a request, as the stores and keys of the app would find them.
///
/// A cookie and an `Authorization` header count only if the request has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestCredentials {
    /// The session that the cookie names.
    pub session: CredentialState,
    /// The bearer token.
    pub token: CredentialState,
    /// The ticket in the query.
    pub ticket: CredentialState,
    /// The credential of a scheme of the app.
    pub scheme: CredentialState,
    /// The CSRF token, in its header or in a form.
    pub csrf: CsrfTokenState,
}

/// The state of a credential.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CredentialState {
    /// There is none.
    #[default]
    Absent,
    /// It is valid.
    Valid(Login),
    /// It is malformed, unknown or revoked.
    Invalid,
    /// It was valid and has expired.
    Expired,
    /// The store or key that could verify it is not available.
    Unchecked,
}

/// The user that a credential names, with the rights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    /// The scopes.
    pub scopes: Vec<String>,
    /// The roles.
    pub roles: Vec<String>,
    /// Seconds since the user logged in; `None` if it is not known.
    pub age: Option<u32>,
    /// The issuer of a token; `None` for the app itself.
    pub issuer: Option<String>,
}

/// The CSRF token of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CsrfTokenState {
    /// There is none.
    #[default]
    Absent,
    /// It matches the session.
    Valid,
    /// It does not match the session.
    Invalid,
}

impl CredentialState {
    /// A valid credential without scopes and roles, of a user who has just logged in.
    pub fn valid() -> Self {
        Self::Valid(Login { age: Some(0), ..Login::default() })
    }
}
