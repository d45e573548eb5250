//! Operations of handlers on tokens.

use std::{borrow::Cow, sync::Arc};

use policy_core::{
    session::{Handle, Identity},
    time::Timestamp,
    token::{OpaqueKind, OpaqueToken},
};
use serde::Serialize;
use serde_json::Value;

use super::{
    IssuedTokens, TokenService, foreign_issuer_of, scoped,
    service::{Grant, SIGNS_NONE},
    verified::is_nameless,
};
use crate::{
    auth::{CredentialError, CutOffs, Ending},
    store::TokenHash,
};

/// As a handler argument, issues and revokes tokens. Its constructors create the
/// [settings](crate::tokens::TokenSettings) of an app from keys.
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
/// use policy_server::{CredentialError, Identity, Tokens, tokens::IssuedTokens};
///
/// async fn token(tokens: Tokens) -> Result<IssuedTokens, CredentialError> {
///     // After checking a password or the like:
///     tokens.login(Identity::new("ada").scopes(["reports:read"])).await
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Tokens {
    service: Arc<TokenService>,
    cut_offs: Arc<CutOffs>,
    caller: Option<Caller>,
}

/// A user of an external issuer, as in [`Subject::Foreign`](crate::Subject::Foreign).
#[cfg(feature = "asym")]
#[derive(Clone, Copy, Debug)]
pub struct ForeignUser<'a> {
    /// The `iss` of their tokens.
    pub issuer: &'a str,
    /// The `sub` of their tokens.
    pub name: &'a str,
}

/// An access token of an external issuer.
#[cfg(feature = "asym")]
#[derive(Clone, Copy, Debug)]
pub struct ForeignToken<'a> {
    /// Its `iss`.
    pub issuer: &'a str,
    /// Its `jti`.
    pub id: &'a str,
    /// Its `exp`: the revocation is kept until then.
    pub expires: Timestamp,
}

/// The caller of a request, according to its credential.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) identity: Identity,
    /// When the user logged in.
    pub(crate) authenticated: Option<Timestamp>,
    /// The session of the request, or that of its token if this app issued it.
    pub(crate) session: Option<Handle>,
    /// The `jti`, in the form that revocations use, and the expiry of the token of the request or
    /// of the one from which its ticket was issued.
    pub(crate) token: Option<(Box<str>, Timestamp)>,
}

impl Caller {
    /// The issuer of the credential, if it is not this app.
    fn foreign_issuer(&self) -> Option<&str> {
        foreign_issuer_of(&self.token.as_ref()?.0)
    }

    /// The user, in the form that revocations use.
    pub(super) fn user(&self) -> Cow<'_, str> {
        scoped(self.foreign_issuer(), &self.identity.subject)
    }
}

/// Every change is durable before the call returns, and takes effect in this process at once. Other
/// instances of the app learn of it within a second.
impl Tokens {
    /// Tokens for one request; `caller` is present if it is authenticated.
    pub(crate) fn new(
        service: Arc<TokenService>,
        cut_offs: Arc<CutOffs>,
        caller: Option<Caller>,
    ) -> Self {
        Self { service, cut_offs, caller }
    }

    /// Issues an access token. If the identity is the caller's own, the token states their session
    /// and when they logged in.
    ///
    /// # Errors
    ///
    /// 500 for an identity without a subject, with an invalid tenant or scope (RFC 6749 3.3). 409
    /// (`session.ended`) if the user was cut off after the request began.
    ///
    /// ```
    /// use policy_server::{CredentialError, Identity, Tokens, tokens::IssuedTokens};
    ///
    /// async fn token_for_reports(tokens: Tokens) -> Result<IssuedTokens, CredentialError> {
    ///     tokens.issue(&Identity::new("nightly").scopes(["reports:read"]))
    /// }
    /// ```
    pub fn issue(&self, identity: &Identity) -> Result<IssuedTokens, CredentialError> {
        self.sign(identity, Grant::default())
    }

    /// [Issues](Self::issue) an access token with further claims: the members of a structure or
    /// map.
    ///
    /// # Errors
    ///
    /// As [`issue`](Self::issue); also 500 for claims that are not a JSON object, that have the
    /// name of a registered claim, or that make the token longer than 4096 bytes.
    pub fn issue_with(
        &self,
        identity: &Identity,
        claims: &impl Serialize,
    ) -> Result<IssuedTokens, CredentialError> {
        match serde_json::to_value(claims).map_err(CredentialError::invalid)? {
            Value::Object(custom) => {
                self.sign(identity, Grant { custom: Some(&custom), ..Grant::default() })
            }
            _ => Err(CredentialError::invalid("claims are the members of a JSON object")),
        }
    }

    /// Issues an access token and the first refresh token of a new family to a user who has just
    /// authenticated. If the caller is this user with a session, the family ends with the session.
    ///
    /// # Errors
    ///
    /// 500 and 409 as [`issue`](Self::issue); 503 while the store is unavailable.
    pub async fn login(
        &self,
        identity: impl Into<Identity>,
    ) -> Result<IssuedTokens, CredentialError> {
        let identity = identity.into();
        let session = self.caller_as(&identity).and_then(|caller| caller.session);
        let cut_offs = self.known_cut_offs(&identity);
        let issued = self.service.login(identity, session, cut_offs).await?;
        if let Some(issued) = issued {
            return Ok(issued);
        }
        self.cut_offs.learn().await.map_err(CredentialError::token_store)?;
        Err(CredentialError::Ended)
    }

    /// Exchanges a refresh token for the next access and refresh token (RFC 6749 6).
    ///
    /// A refresh token that was used before was copied: reuse ends the whole family and its access
    /// tokens (RFC 9700 4.14.2). Within the grace period it yields the same successor once more.
    ///
    /// # Errors
    ///
    /// 401 for an invalid token, whatever the reason; 409 as [`issue`](Self::issue); 503 while the
    /// store is unavailable, and the token stays valid.
    pub async fn refresh(&self, refresh_token: &str) -> Result<IssuedTokens, CredentialError> {
        // Read first: what the request cuts off while the store responds stays cut off.
        let cut_offs = self.cut_offs.token_cut_offs();
        self.service.refresh(refresh_token, &cut_offs).await
    }

    /// Ends the family of a refresh token and its access tokens. Returns whether it was live.
    ///
    /// # Errors
    ///
    /// 503 while the store is unavailable.
    pub async fn logout(&self, refresh_token: &str) -> Result<bool, CredentialError> {
        let token = OpaqueToken::parse(OpaqueKind::Refresh, refresh_token);
        let Some(token) = token.map(|token| TokenHash(token.hash())) else { return Ok(false) };
        self.end(Ending::Family(token)).await.map(|ended| ended > 0)
    }

    /// Revokes the access token of this request, or the one from which its ticket was issued.
    /// Returns whether there is one.
    ///
    /// A token of an external issuer that has no `jti` is revoked with all others that its issuer
    /// has issued to its user until now.
    ///
    /// # Errors
    ///
    /// 503 while the store is unavailable.
    pub async fn revoke(&self) -> Result<bool, CredentialError> {
        let Some(caller) = &self.caller else { return Ok(false) };
        match &caller.token {
            None => return Ok(false),
            Some((id, _)) if is_nameless(id) => {
                self.end(Ending::Foreign(caller.user().into())).await?;
            }
            Some((id, expires)) => self.revoke_token(id, *expires).await?,
        }
        Ok(true)
    }

    /// Revokes the access token with this `jti`; `expires` is its `exp`.
    ///
    /// # Errors
    ///
    /// 503 while the store is unavailable; this instance refuses the token nevertheless, and stores
    /// the revocation later.
    pub async fn revoke_token(&self, id: &str, expires: Timestamp) -> Result<(), CredentialError> {
        self.service.revoke_token(id, expires).await
    }

    /// Ends everything of a user: access and refresh tokens, tickets, sessions and open streams, as
    /// [`Sessions::revoke_user`](crate::Sessions::revoke_user) does. Returns how many sessions and
    /// refresh token families ended.
    ///
    /// # Errors
    ///
    /// 503 while the store is unavailable.
    pub async fn revoke_user(&self, user: &str) -> Result<u64, CredentialError> {
        self.end(Ending::User { user: user.into(), keep: None }).await
    }

    /// Ends everything of all users, as
    /// [`Sessions::revoke_everyone`](crate::Sessions::revoke_everyone) does. Returns how many
    /// sessions and refresh token families ended, without those of a PostgreSQL table that is too large
    /// to be counted in two seconds.
    ///
    /// # Errors
    ///
    /// 503 while the store is unavailable.
    pub async fn revoke_everyone(&self) -> Result<u64, CredentialError> {
        self.end(Ending::Everyone).await
    }

    /// Revokes an access token of an external issuer.
    ///
    /// # Errors
    ///
    /// 500 for an empty `id`: a token without one is revoked by its
    /// [user](Self::revoke_foreign_user). 503 while the store is unavailable.
    #[cfg(feature = "asym")]
    pub async fn revoke_foreign_token(
        &self,
        token: ForeignToken<'_>,
    ) -> Result<(), CredentialError> {
        let ForeignToken { issuer, id, expires } = token;
        if id.is_empty() {
            return Err(CredentialError::invalid("a token without a `jti` is revoked by its user"));
        }
        self.service.revoke_token(&scoped(Some(issuer), id), expires).await
    }

    /// Revokes every access token that an external issuer has issued to one of its users until now.
    /// Tokens that it issues later within the same second are refused as well.
    ///
    /// # Errors
    ///
    /// 503 while the store is unavailable.
    #[cfg(feature = "asym")]
    pub async fn revoke_foreign_user(&self, user: ForeignUser<'_>) -> Result<(), CredentialError> {
        let user = scoped(Some(user.issuer), user.name);
        self.end(Ending::Foreign(user.into())).await.map(drop)
    }

    /// Revokes every access token of every issuer, and every ticket, issued until now. Refresh
    /// tokens and sessions stay valid, and clients get new access tokens with them;
    /// [`revoke_everyone`](Self::revoke_everyone) ends those too.
    ///
    /// # Errors
    ///
    /// 503 while the store is unavailable.
    pub async fn revoke_all(&self) -> Result<(), CredentialError> {
        self.end(Ending::Access).await.map(drop)
    }

    /// Reacts to a compromised key: it is [retired](super::TokenKeys::retire), and everything
    /// issued until now is [revoked](Self::revoke_all). Every instance of the app has to retire it.
    ///
    /// # Errors
    ///
    /// 500 if it is the only key: [replace](super::TokenKeys::replace) it first. 503 while the
    /// store is unavailable.
    pub async fn revoke_key(&self, key_id: &str) -> Result<(), CredentialError> {
        let keys = self.service.keys().ok_or_else(|| CredentialError::invalid(SIGNS_NONE))?;
        keys.retire(key_id).map_err(CredentialError::invalid)?;
        self.revoke_all().await
    }

    /// Issues a ticket to the caller: text that opens one connection within 30 seconds, for a
    /// WebSocket or an event source, to which a page cannot add an `Authorization` header. The
    /// connection ends with the session and the token from which the ticket was issued.
    ///
    /// # Errors
    ///
    /// 401 without an authenticated caller; 409 as [`issue`](Self::issue); 503 while the store is
    /// unavailable.
    pub async fn ticket(&self) -> Result<String, CredentialError> {
        let caller = self.caller.clone().ok_or(CredentialError::NoCaller)?;
        let cut_offs = self.cut_offs.token_cut_offs().newest_for(Some(&caller.user()));
        self.service.put_ticket(caller, cut_offs).await
    }

    fn sign(&self, identity: &Identity, grant: Grant<'_>) -> Result<IssuedTokens, CredentialError> {
        let cut_offs = self.known_cut_offs(identity);
        self.service.check_cut_offs(&scoped(None, &identity.subject), cut_offs)?;
        let caller = self.caller_as(identity);
        let session = caller.and_then(|caller| caller.session).map(|session| session.to_string());
        let issued = self.service.issue_time(&identity.subject);
        let grant = Grant {
            session: session.as_deref(),
            authenticated: caller.and_then(|caller| caller.authenticated),
            cut_offs: Some(cut_offs),
            ..grant
        };
        self.service.issue(identity, issued, grant)
    }

    /// The newest cut-off that permits a grant to this user of this app.
    fn known_cut_offs(&self, identity: &Identity) -> u64 {
        self.cut_offs.token_cut_offs().newest_for(Some(&scoped(None, &identity.subject)))
    }

    /// The caller, if it is this user of this app.
    fn caller_as(&self, identity: &Identity) -> Option<&Caller> {
        let caller = self.caller.as_ref()?;
        let is_own = caller.foreign_issuer().is_none();
        (is_own && caller.identity.subject == identity.subject).then_some(caller)
    }

    async fn end(&self, ending: Ending) -> Result<u64, CredentialError> {
        self.cut_offs.end(ending).await.map_err(CredentialError::token_store)
    }
}
