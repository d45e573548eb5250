//! Who may use what is no annotated handler.

use std::any::{TypeId, type_name};

use policy_core::auth::{AuthPolicy, OwnScheme, Requirement};

use crate::auth::scheme::Scheme;

/// Who may call: what [`#[auth(..)]`](macro@crate::auth) says for a handler, as a value, for what
/// has no attributes.
///
/// ```
/// use policy_server::Callers;
///
/// // `#[auth(token, scopes = ["tunnel"])]`
/// let callers = Callers::token().scopes(&["tunnel"]);
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "it holds for what it is given to"]
pub struct Callers {
    requirement: Requirement,
    pub(crate) scheme: Option<TypeId>,
}

impl Callers {
    /// Who has a bearer token, of the app's [`Tokens`](crate::Tokens).
    pub const fn token() -> Self {
        Self { requirement: Requirement { token: true, ..Requirement::NONE }, scheme: None }
    }

    /// Whom a scheme of the application's own recognises, which the app has by
    /// [`App::scheme`](crate::App::scheme).
    pub fn scheme<T: Scheme>() -> Self {
        let path = type_name::<T>();
        // As attributes write it.
        let name = path.rsplit("::").next().unwrap_or(path);
        let scheme = Some(OwnScheme { name, ambient: T::AMBIENT });
        let requirement = Requirement { scheme, ..Requirement::NONE };
        Self { requirement, scheme: Some(TypeId::of::<T>()) }
    }

    /// And has all of these scopes.
    pub const fn scopes(mut self, scopes: &'static [&'static str]) -> Self {
        self.requirement.scopes = scopes;
        self
    }

    /// And has one of these roles.
    pub const fn roles(mut self, roles: &'static [&'static str]) -> Self {
        self.requirement.roles = roles;
        self
    }

    pub(crate) const fn policy(self) -> AuthPolicy {
        AuthPolicy::Required(self.requirement)
    }
}
