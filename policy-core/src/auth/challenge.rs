//! The challenges for refused callers.

use http::HeaderValue;

use super::is_scope;
use crate::catalogue::{Refusal, Rule};

/// The `WWW-Authenticate` of a route that takes bearer tokens, one value for each reason to refuse
/// (RFC 6750 3). Made once, at start.
///
/// A client learns that a token has expired, so that it can get a new one, but not why any other
/// token is refused: an attacker could use that. A route that takes no token sends no challenge: no
/// scheme is registered for cookies, although RFC 9110 15.5.2 requires a challenge with 401.
///
/// ```
/// use policy_core::{Refusal, auth::Challenges};
///
/// let challenges = Challenges::new("api", &["orders:read"])?;
/// let missing = challenges.for_refusal(Refusal::CredentialsMissing);
/// assert_eq!(missing.unwrap(), "Bearer realm=\"api\"");
/// let rights = challenges.for_refusal(Refusal::RightsMissing);
/// assert_eq!(rights.unwrap(), "Bearer realm=\"api\", error=\"insufficient_scope\", scope=\"orders:read\"");
/// assert_eq!(challenges.for_refusal(Refusal::CredentialsUnchecked), None);
/// # Ok::<(), policy_core::Rule>(())
/// ```
#[derive(Clone, Debug)]
pub struct Challenges {
    missing: HeaderValue,
    malformed: HeaderValue,
    invalid: HeaderValue,
    expired: HeaderValue,
    rights: HeaderValue,
    login: HeaderValue,
}

impl Challenges {
    /// The challenges of a route in this realm that needs these scopes.
    ///
    /// # Errors
    ///
    /// [`Rule::RealmInvalid`] or [`Rule::ScopeInvalid`]: one that cannot be written in a quoted
    /// string. A realm has 1 to 256 bytes.
    pub fn new(realm: &str, scopes: &[&str]) -> Result<Self, Rule> {
        if !(1..=256).contains(&realm.len())
            || !realm.split(' ').all(|word| word.is_empty() || is_scope(word))
        {
            return Err(Rule::RealmInvalid);
        }
        if !scopes.iter().copied().all(is_scope) {
            return Err(Rule::ScopeInvalid);
        }
        let challenge = |behind: &str| {
            let text = format!("Bearer realm=\"{realm}\"{behind}");
            HeaderValue::try_from(text).map_err(|_error| Rule::RealmInvalid)
        };
        let scope = if scopes.is_empty() {
            String::new()
        } else {
            format!(", scope=\"{}\"", scopes.join(" "))
        };
        Ok(Self {
            missing: challenge("")?,
            malformed: challenge(", error=\"invalid_request\"")?,
            invalid: challenge(&described("invalid_token", "The access token is invalid"))?,
            expired: challenge(&described("invalid_token", "The access token expired"))?,
            rights: challenge(&format!(", error=\"insufficient_scope\"{scope}"))?,
            login: challenge(&described(
                "insufficient_user_authentication",
                "A more recent login is required",
            ))?,
        })
    }

    /// The challenge for this refusal; `None` if no challenge would help.
    pub fn for_refusal(&self, refusal: Refusal) -> Option<&HeaderValue> {
        match refusal {
            Refusal::CredentialsMissing => Some(&self.missing),
            Refusal::AuthorizationMalformed => Some(&self.malformed),
            Refusal::TokenInvalid => Some(&self.invalid),
            Refusal::TokenExpired => Some(&self.expired),
            Refusal::RightsMissing => Some(&self.rights),
            Refusal::LoginTooOld => Some(&self.login),
            _ => None,
        }
    }
}

fn described(error: &str, description: &str) -> String {
    format!(", error=\"{error}\", error_description=\"{description}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_the_quotes() {
        for realm in ["", "a\"b", "a\\b", "a\r\nb", "é"] {
            let rule = Challenges::new(realm, &[]).err();
            assert_eq!(rule, Some(Rule::RealmInvalid), "{realm}");
        }
        for scope in ["", "a b", "a\"b", "a\\b", "a\tb", "é"] {
            let rule = Challenges::new("my api", &["ok", scope]).err();
            assert_eq!(rule, Some(Rule::ScopeInvalid), "{scope}");
        }
    }

    #[test]
    fn a_missing_role_names_no_scope() {
        let challenges = Challenges::new("api", &[]).unwrap();
        let rights = challenges.for_refusal(Refusal::RightsMissing).unwrap();
        assert_eq!(rights, "Bearer realm=\"api\", error=\"insufficient_scope\"");
    }
}
