//! Gate 9: authorization.

use crate::catalogue::Refusal;

/// A caller that gate 7 has identified.
pub trait GatedCaller {
    /// Whether browsers attach the credential automatically, as they do cookies.
    fn is_ambient(&self) -> bool;
    /// Whether the caller has a scope.
    fn has_scope(&self, scope: &str) -> bool;
    /// Whether the caller has a role.
    fn has_role(&self, role: &str) -> bool;
    /// Whether the caller logged in less than this many seconds ago. A scheme of the app checks its
    /// credential on every request, so it is always fresh.
    fn is_fresh(&self, seconds: u32) -> bool;
}

/// The rights that a route requires.
#[derive(Clone, Copy, Debug)]
pub struct Rights<'a, S> {
    /// Whether a caller without credentials is admitted as anonymous.
    pub optional: bool,
    /// Scopes, all of which are needed.
    pub scopes: &'a [S],
    /// Roles, one of which is needed; empty if none is.
    pub roles: &'a [S],
    /// The longest time in seconds since the user last authenticated.
    pub fresh: Option<u32>,
}

impl<S: AsRef<str>> Rights<'_, S> {
    /// Refuses a request whose caller does not meet the requirements of the route.
    pub(super) fn check(&self, caller: Option<&impl GatedCaller>) -> Result<(), Refusal> {
        let Some(caller) = caller else {
            return if self.optional { Ok(()) } else { Err(Refusal::CredentialsMissing) };
        };
        let has_scopes = self.scopes.iter().all(|scope| caller.has_scope(scope.as_ref()));
        let has_role =
            self.roles.is_empty() || self.roles.iter().any(|role| caller.has_role(role.as_ref()));
        if !has_scopes || !has_role {
            return Err(Refusal::RightsMissing);
        }
        match self.fresh.is_none_or(|seconds| caller.is_fresh(seconds)) {
            true => Ok(()),
            false => Err(Refusal::LoginTooOld),
        }
    }
}
