//! What a handler does with tokens.

use std::{borrow::Cow, sync::Arc};

use policy_core::{
    session::{Handle, Identity},
    time::Timestamp,
};
use serde::Serialize;
use serde_json::Value;

use super::{Issued, TokenService, foreign_issuer_of, scoped, service::Grant};
use crate::base::problem::Problem;

/// In a handler what to do with tokens; where an app is put together, where its
/// [settings](crate::tokens::TokenSettings) begin: with the keys.
///
/// ```
/// use policy_server::{Tokens, tokens::SecretKey};
///
/// let secret = SecretKey::decode("/9ylw38tQfz6gRMxEYZzv2V4mKJ0mNUSgAOC3kKJB54=").unwrap();
/// let tokens = Tokens::hs256(secret)?;
/// # Ok::<(), policy_server::tokens::KeyError>(())
/// ```
///
/// In a handler, `tokens: Tokens` issues, refreshes and revokes:
///
/// ```
/// use policy_server::{Problem, Identity, Tokens, tokens::Issued};
///
/// async fn token(tokens: Tokens) -> Result<Issued, Problem> {
///     // Once a password or the like was checked:
///     tokens.login(Identity::new("ada").scopes(["reports:read"])).await
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Tokens {
    service: Arc<TokenService>,
    caller: Option<Caller>,
}

/// Who sent a request, as its credential says.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) identity: Identity,
    /// When the user proved who they are.
    pub(crate) authenticated: Option<Timestamp>,
    /// The session of the request, or that of its token, if this app issued it.
    pub(crate) session: Option<Handle>,
    /// The `jti`, as revocations know it, and the expiry of the token of the request, or of the
    /// one that its ticket was made with.
    pub(crate) token: Option<(Box<str>, Timestamp)>,
}

impl Caller {
    /// Who says who they are, where it is not this app.
    fn foreign_issuer(&self) -> Option<&str> {
        foreign_issuer_of(&self.token.as_ref()?.0)
    }

    /// The user, as revocations know them.
    pub(super) fn user(&self) -> Cow<'_, str> {
        scoped(self.foreign_issuer(), &self.identity.subject)
    }
}

/// Every change is durable before it answers, and holds in this process from then on; other
/// instances of the app know a second later.
impl Tokens {
    /// Tokens for one request; `caller` where it is authenticated.
    pub(crate) fn new(service: Arc<TokenService>, caller: Option<Caller>) -> Self {
        Self { service, caller }
    }

    /// Issues an access token. For the caller's own identity it says in which session, and when
    /// they last proved who they are.
    ///
    /// # Errors
    ///
    /// 500 for an identity without subject, or with a scope that is none (RFC 6749 3.3).
    ///
    /// ```
    /// use policy_server::{Problem, Identity, Tokens, tokens::Issued};
    ///
    /// async fn token_for_reports(tokens: Tokens) -> Result<Issued, Problem> {
    ///     tokens.issue(&Identity::new("nightly").scopes(["reports:read"]))
    /// }
    /// ```
    pub fn issue(&self, identity: &Identity) -> Result<Issued, Problem> {
        self.sign(identity, Grant::default())
    }

    /// [Issues](Self::issue) an access token with more claims: the members of a structure or map.
    ///
    /// # Errors
    ///
    /// 500 as well for claims that are no JSON object, that have the name of a registered claim,
    /// or that make the token longer than 4096 bytes.
    pub fn issue_with(
        &self,
        identity: &Identity,
        claims: &impl Serialize,
    ) -> Result<Issued, Problem> {
        match serde_json::to_value(claims).map_err(Problem::internal)? {
            Value::Object(custom) => {
                self.sign(identity, Grant { custom: Some(&custom), ..Grant::default() })
            }
            _ => Err(Problem::internal("claims are the members of a JSON object")),
        }
    }

    /// Issues an access token and the first refresh token of a new family to somebody who proved
    /// who they are just now.
    ///
    /// # Errors
    ///
    /// 500 as [`issue`](Self::issue); 503 while the store does not answer.
    pub async fn login(&self, identity: impl Into<Identity>) -> Result<Issued, Problem> {
        self.service.login(identity.into()).await
    }

    /// Exchanges a refresh token for the next access and refresh token (RFC 6749 6).
    ///
    /// A token that was used before, by somebody who has a copy, ends the whole family and its
    /// access tokens; only within the grace it gives the same successor once more.
    ///
    /// # Errors
    ///
    /// 401 for everything but a valid token, always the same; 503 while the store does not
    /// answer, and the token stays valid.
    pub async fn refresh(&self, refresh_token: &str) -> Result<Issued, Problem> {
        self.service.refresh(refresh_token).await
    }

    /// Ends the family of a refresh token and its access tokens. Says whether it lived.
    ///
    /// # Errors
    ///
    /// 503 while the store does not answer.
    pub async fn logout(&self, refresh_token: &str) -> Result<bool, Problem> {
        self.service.logout(refresh_token).await
    }

    /// Revokes the access token of this request, or the one that its ticket was made with. Says
    /// whether there is one.
    ///
    /// # Errors
    ///
    /// 503 while the store does not answer.
    pub async fn revoke(&self) -> Result<bool, Problem> {
        match self.caller.as_ref().and_then(|caller| caller.token.as_ref()) {
            Some((id, expires)) => self.revoke_token(id, *expires).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Revokes the access token of this `jti`; `expires` is its `exp`.
    ///
    /// # Errors
    ///
    /// 503 while the store does not answer.
    pub async fn revoke_token(&self, id: &str, expires: Timestamp) -> Result<(), Problem> {
        self.service.revoke_token(id, expires).await
    }

    /// Revokes everything that was issued to a user until now: access tokens, refresh tokens and
    /// tickets. Gives how many families of refresh tokens ended.
    ///
    /// # Errors
    ///
    /// 503 while the store does not answer.
    pub async fn revoke_user(&self, user: &str) -> Result<u64, Problem> {
        self.service.revoke_user(user).await
    }

    /// Revokes the access token of a foreign issuer by its `jti`; `expires` is its `exp`.
    ///
    /// # Errors
    ///
    /// 503 while the store does not answer.
    #[cfg(feature = "asym")]
    pub async fn revoke_token_of(
        &self,
        issuer: &str,
        id: &str,
        expires: Timestamp,
    ) -> Result<(), Problem> {
        self.service.revoke_token(&scoped(Some(issuer), id), expires).await
    }

    /// Revokes every access token that a foreign issuer gave to a user of its own until now. One
    /// that it issues later within the same second is refused as well.
    ///
    /// # Errors
    ///
    /// 503 while the store does not answer.
    #[cfg(feature = "asym")]
    pub async fn revoke_user_of(&self, issuer: &str, user: &str) -> Result<(), Problem> {
        self.service.cut_user(&scoped(Some(issuer), user)).await
    }

    /// Revokes every access token, of whatever issuer, and every ticket that was made until now. Refresh tokens hold:
    /// clients get new access tokens for them.
    ///
    /// # Errors
    ///
    /// 503 while the store does not answer.
    pub async fn revoke_all(&self) -> Result<(), Problem> {
        self.service.revoke_all().await
    }

    /// What to do when somebody else may have a key: it is [retired](super::TokenKeys::retire),
    /// and everything that was issued until now is [revoked](Self::revoke_all). Every instance of
    /// the app has to retire it.
    ///
    /// # Errors
    ///
    /// 500 where it is the only key: [replace](super::TokenKeys::replace) it before. 503 while
    /// the store does not answer.
    pub async fn compromised(&self, key_id: &str) -> Result<(), Problem> {
        self.service.keys().retire(key_id).map_err(Problem::internal)?;
        self.revoke_all().await
    }

    /// Makes a ticket for the caller: text that opens one connection within 30 seconds, for a
    /// WebSocket or an event source, to which a page cannot give an `Authorization` field. What
    /// it opens ends with the session and the token that the ticket was made with.
    ///
    /// # Errors
    ///
    /// 401 where nobody is authenticated; 503 while the store does not answer.
    pub async fn ticket(&self) -> Result<String, Problem> {
        let caller = self.caller.clone().ok_or_else(Problem::unauthorized)?;
        self.service.put_ticket(caller).await
    }

    fn sign(&self, identity: &Identity, grant: Grant<'_>) -> Result<Issued, Problem> {
        let is_own = |caller: &&Caller| {
            caller.foreign_issuer().is_none() && caller.identity.subject == identity.subject
        };
        let caller = self.caller.as_ref().filter(is_own);
        let session = caller.and_then(|caller| caller.session).map(|session| session.to_string());
        let authenticated = caller.and_then(|caller| caller.authenticated);
        let issued = self.service.issue_time(&identity.subject);
        self.service.issue(
            identity,
            issued,
            Grant { session: session.as_deref(), authenticated, ..grant },
        )
    }
}
