//! The caller of a route that takes tokens of other issuers.

use policy_core::{time::Timestamp, token::Token};

use super::principal::{AuthScheme, Principal};

/// The authenticated caller of a request, who may be a user of another issuer.
///
/// A route with `#[auth(token, issuers = [..])]` takes this in place of a [`Principal`], who is
/// always a user of this app. On a route with `optional` it is `Option<Caller>`.
///
/// ```
/// use policy_server::{Caller, Subject, prelude::*};
///
/// #[get("/orders")]
/// #[auth(token, issuers = ["own", "https://partner.example"])]
/// async fn orders(caller: Caller) -> String {
///     match caller.subject() {
///         Subject::User(name) => format!("the orders of {name}"),
///         Subject::Foreign { issuer, name } => format!("what {name} of {issuer} may see"),
///     }
/// }
/// ```
///
/// Names of different issuers are unrelated: `ada` of a partner is not the user `ada` of this app.
/// So a function that takes a user does not take a [`Subject`]; it has to be converted explicitly
/// with [`as_local_user`](Subject::as_local_user).
///
/// ```compile_fail,E0277
/// use policy_server::{Caller, CredentialError, prelude::*};
///
/// async fn enter(caller: Caller, sessions: Sessions) -> Result<(), CredentialError> {
///     sessions.login(caller.subject()).await
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Caller(Principal);

/// The identity of a caller: a user of this app, or one of another issuer.
///
/// It is compared as a whole, so the same name of two issuers is two subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject<'a> {
    /// A user of this app, by name.
    User(&'a str),
    /// A user of another issuer.
    Foreign {
        /// The issuer, as the app accepts it.
        issuer: &'a str,
        /// The name that this issuer gave.
        name: &'a str,
    },
}

impl Caller {
    pub(crate) fn new(principal: Principal) -> Self {
        Self(principal)
    }

    /// The identity of the caller.
    pub fn subject(&self) -> Subject<'_> {
        self.0.whole_subject()
    }

    /// The caller as a user of this app; `None` for one of another issuer.
    pub fn principal(&self) -> Option<&Principal> {
        Some(&self.0).filter(|principal| principal.foreign_issuer().is_none())
    }

    /// The credential that was used.
    pub fn scheme(&self) -> AuthScheme {
        self.0.scheme()
    }

    /// Whether a scope was granted. A scope of another issuer counts only if the app lets that
    /// issuer grant it.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.0.has_scope(scope)
    }

    /// Whether the caller has a role. A role of another issuer counts only if the app lets that
    /// issuer give it.
    pub fn has_role(&self, role: &str) -> bool {
        self.0.has_role(role)
    }

    /// The tenant to which the caller belongs. A tenant of another issuer counts only if the app
    /// [reads it](crate::tokens::Issuer::tenant_claim) from the tokens of that issuer.
    pub fn tenant(&self) -> Option<&str> {
        self.0.tenant()
    }

    /// When the caller last logged in, as for [`Principal::authenticated_at`].
    pub fn authenticated_at(&self) -> Option<Timestamp> {
        self.0.authenticated_at()
    }

    /// The token, with its claims as the issuer wrote them.
    pub fn token(&self) -> Option<&Token> {
        self.0.token()
    }
}

impl<'a> Subject<'a> {
    /// The name of a user of this app; `None` for one of another issuer.
    pub const fn user(self) -> Option<&'a str> {
        match self {
            Self::User(name) => Some(name),
            Self::Foreign { .. } => None,
        }
    }

    /// The issuer, if it is not this app.
    pub const fn issuer(self) -> Option<&'a str> {
        match self {
            Self::User(_) => None,
            Self::Foreign { issuer, .. } => Some(issuer),
        }
    }

    /// The name of the user in this app, whichever issuer gave it. The caller of this function
    /// asserts that the issuer names the users of this app and no others, for instance because it
    /// is their only identity provider.
    pub const fn as_local_user(self) -> &'a str {
        match self {
            Self::User(name) | Self::Foreign { name, .. } => name,
        }
    }
}
