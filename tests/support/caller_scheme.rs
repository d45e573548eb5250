//! A scheme of callers whom requests name, for tests about rights.

use policy_server::{AuthError, Identity, Scheme, SchemeRequest};

/// Authenticates the caller that a request names:
/// `x-caller: ada;company=acme;role=lead;scope=refund`.
pub struct CallerScheme;

impl Scheme for CallerScheme {
    const AMBIENT: bool = false;

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        let Some(caller) = request.headers().get("x-caller") else { return Ok(None) };
        identity(caller.to_str().expect("a caller")).map(Some).ok_or(AuthError::Invalid)
    }
}

/// The identity of this text; `None` if it is none.
pub fn identity(caller: &str) -> Option<Identity> {
    let mut parts = caller.split(';');
    let (mut identity, mut roles, mut scopes) = (Identity::new(parts.next()?), vec![], vec![]);
    for part in parts {
        match part.split_once('=')? {
            ("company", name) => identity = identity.tenant(name),
            ("role", role) => roles.push(role),
            ("scope", scope) => scopes.push(scope),
            _ => return None,
        }
    }
    Some(identity.roles(roles).scopes(scopes))
}
