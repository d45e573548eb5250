//! Who may use a target without attributes.

use std::any::{TypeId, type_name};

use policy_core::auth::{AuthPolicy, OwnScheme, Requirement};

use crate::auth::scheme::Scheme;

/// The callers of a target without attributes, such as a tunnel: the value form of
/// [`#[auth(..)]`](macro@crate::auth).
///
/// ```
/// use policy_server::AuthRequirement;
///
/// // `#[auth(token, scopes = ["tunnel"])]`
/// let requirement = AuthRequirement::token().scopes(&["tunnel"]);
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "it holds for what it is given to"]
pub struct AuthRequirement {
    requirement: Requirement,
    pub(crate) scheme: Option<TypeId>,
}

impl AuthRequirement {
    /// Requires a bearer token of the app's [`Tokens`](crate::Tokens).
    pub const fn token() -> Self {
        Self { requirement: Requirement { token: true, ..Requirement::NONE }, scheme: None }
    }

    /// Requires a caller that one of the application's schemes recognises. The app registers it
    /// with [`App::scheme`](crate::App::scheme).
    pub fn scheme<T: Scheme>() -> Self {
        let path = type_name::<T>();
        // The name as attributes write it.
        let name = path.rsplit("::").next().unwrap_or(path);
        let scheme = Some(OwnScheme { name, ambient: T::AMBIENT });
        let requirement = Requirement { scheme, ..Requirement::NONE };
        Self { requirement, scheme: Some(TypeId::of::<T>()) }
    }

    /// Also requires all of these scopes.
    pub const fn scopes(mut self, scopes: &'static [&'static str]) -> Self {
        self.requirement.scopes = scopes;
        self
    }

    /// Also requires one of these roles.
    pub const fn roles(mut self, roles: &'static [&'static str]) -> Self {
        self.requirement.roles = roles;
        self
    }

    pub(crate) const fn policy(self) -> AuthPolicy {
        AuthPolicy::Required(self.requirement)
    }
}
