//! Access tokens, and the families of refresh tokens that they are issued with.

use std::time::Duration;

use policy_core::{
    auth::is_scope,
    session::{Handle, Identity},
    time::Timestamp,
    token::{NewClaims, OpaqueKind, OpaqueToken},
};
use serde_json::{Map, Value};

use super::{MAX_LEN, SIGNS_NONE, TokenService};
use crate::{
    auth::{
        CredentialError, StoreCutOffs,
        tokens::{IssuedTokens, scoped},
    },
    base::{
        escape::printable,
        event::{
            count::{Count, count},
            log,
        },
    },
    store::{CreateFamily, Family, Refresh, RefreshOutcome, StoreError, TokenHash},
};

/// How much later than a request begins to end a family or a session another one may issue an access token
/// of it: the store takes some seconds, and a cut-off has moved `iat` to the next one.
const LATER: Duration = Duration::from_secs(10);

/// The outcome of a refresh, as a value of an attribute of metrics.
fn name_of(outcome: &RefreshOutcome) -> &'static str {
    match outcome {
        RefreshOutcome::Done(_) => "granted",
        RefreshOutcome::Again { .. } => "repeated",
        RefreshOutcome::Reused(_) => "reused",
        RefreshOutcome::Overtaken | RefreshOutcome::Dead | RefreshOutcome::Unknown => "refused",
    }
}

/// The contents of an access token besides its issuer and dates.
#[derive(Clone, Copy, Default)]
pub(in crate::auth::tokens) struct Grant<'a> {
    pub(in crate::auth::tokens) session: Option<&'a str>,
    pub(in crate::auth::tokens) authenticated: Option<Timestamp>,
    /// The newest cut-off that the request knows.
    pub(in crate::auth::tokens) cut_offs: Option<u64>,
    pub(in crate::auth::tokens) custom: Option<&'a Map<String, Value>>,
}

impl TokenService {
    /// Signs an access token whose `iat` is `issued`.
    pub(in crate::auth::tokens) fn issue(
        &self,
        identity: &Identity,
        issued: Timestamp,
        grant: Grant<'_>,
    ) -> Result<IssuedTokens, CredentialError> {
        if let Some(scope) = identity.scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(CredentialError::invalid(format!(
                "`{scope}` is not a valid scope (RFC 6749 3.3)"
            )));
        }
        let scope = identity.scopes.join(" ");
        let roles: Vec<&str> = identity.roles.iter().map(|role| &**role).collect();
        let keys = self.keys.as_ref().ok_or_else(|| CredentialError::invalid(SIGNS_NONE))?;
        let id = Handle(self.draw()?).to_string();
        let expires = issued.after(self.lifetime);
        let mut claims =
            NewClaims::new(&self.issuer, &self.audience, &identity.subject, &id, issued);
        claims.expires = expires;
        claims.scope = Some(&*scope).filter(|scope| !scope.is_empty());
        claims.session = grant.session;
        // If the clock was set back, the time of a session can be ahead of `issued`.
        claims.authenticated = grant.authenticated.map(|at| at.min(issued));
        claims.roles = &roles;
        claims.tenant = identity.tenant.as_deref();
        claims.cut_offs = grant.cut_offs;
        claims.custom = grant.custom;
        let now = self.clock.now();
        let access_token = keys.load().sign(&claims, now).map_err(CredentialError::invalid)?;
        if access_token.len() > MAX_LEN {
            return Err(CredentialError::invalid(format!("a token has at most {MAX_LEN} bytes")));
        }
        Ok(IssuedTokens { access_token, refresh_token: None, id: id.into(), issued, expires })
    }

    /// The names of the external issuers.
    #[cfg(feature = "testing")]
    pub(crate) fn external_names(&self) -> Vec<&str> {
        #[cfg(feature = "asym")]
        let names = self.issuers.names().collect();
        #[cfg(not(feature = "asym"))]
        let names = Vec::new();
        names
    }

    /// A token of an external issuer that claims all rights of a user, and the user with those that
    /// the issuer may give.
    #[cfg(all(feature = "testing", feature = "asym"))]
    pub(crate) fn mint_foreign(
        &self,
        issuer: &str,
        user: &Identity,
        authenticated: Option<Timestamp>,
    ) -> Option<(String, Identity)> {
        self.issuers.mint(issuer, user, self.clock.now(), authenticated)
    }

    /// Without the feature there are no external issuers.
    #[cfg(all(feature = "testing", not(feature = "asym")))]
    pub(crate) fn mint_foreign(
        &self,
        _issuer: &str,
        _user: &Identity,
        _authenticated: Option<Timestamp>,
    ) -> Option<(String, Identity)> {
        None
    }

    /// An access token of a login at `authenticated`, if given.
    #[cfg(feature = "testing")]
    pub(crate) fn mint(
        &self,
        identity: &Identity,
        issued: Timestamp,
        authenticated: Option<Timestamp>,
    ) -> Result<String, CredentialError> {
        let cut_offs = Some(self.newest_cut_off());
        let grant = Grant { authenticated, cut_offs, ..Grant::default() };
        self.issue(identity, issued, grant).map(|issued| issued.access_token)
    }

    /// The `iat` of something issued to a user now.
    pub(in crate::auth::tokens) fn issue_time(&self, user: &str) -> Timestamp {
        self.revocation_cache.issue_time(&scoped(None, user), self.clock.now())
    }

    /// Begins a family of refresh tokens, in a session or outside of one, for a request that knows
    /// `cut_offs`; `None` if its user was cut off since.
    pub(in crate::auth::tokens) async fn login(
        &self,
        identity: Identity,
        session: Option<Handle>,
        cut_offs: u64,
    ) -> Result<Option<IssuedTokens>, CredentialError> {
        self.refresh_key().await.map_err(CredentialError::token_store)?;
        let now = self.clock.now();
        let token = OpaqueToken::from_bytes(OpaqueKind::Refresh, self.draw()?);
        let family = Family {
            id: self.draw()?,
            identity,
            authenticated: now,
            expires: now.after(self.refresh_lifetime),
            session,
        };
        let issued = self.issue_time(&family.identity.subject);
        let response = self.issue_for(&family, issued, &token, cut_offs)?;
        let request = CreateFamily::new(family, TokenHash(token.hash()), cut_offs);
        let is_granted =
            self.store.create_family(request).await.map_err(CredentialError::token_store)?;
        if is_granted {
            count(Count::Login("token"));
        }
        Ok(is_granted.then_some(response))
    }

    /// Exchanges a refresh token.
    pub(in crate::auth::tokens) async fn refresh(
        &self,
        text: &str,
        cut_offs: &StoreCutOffs,
    ) -> Result<IssuedTokens, CredentialError> {
        let key = self.refresh_key().await.map_err(CredentialError::token_store)?;
        let era = self.era.check().map_err(CredentialError::token_store)?;
        let token = OpaqueToken::parse(OpaqueKind::Refresh, text);
        let Some(token) = token else {
            count(Count::Refresh("refused"));
            return Err(CredentialError::RefreshRefused);
        };
        let mut valid = key.successor(&token);
        let now = self.clock.now();
        let hashes = (TokenHash(token.hash()), TokenHash(valid.hash()));
        let until = self.end_of_access(now);
        let request = Refresh::new(hashes.0, hashes.1, self.refresh_grace, now, until);
        let outcome = self.store.refresh(request.limit(self.refreshes)).await;
        let outcome = outcome.map_err(CredentialError::token_store)?;
        count(Count::Refresh(name_of(&outcome)));
        let family = match outcome {
            RefreshOutcome::Done(family) => family,
            RefreshOutcome::Again { family, steps } => {
                // A faster tab may have used the successor already.
                for _ in 1..steps.min(RefreshOutcome::MAX_STEPS) {
                    valid = key.successor(&valid);
                }
                family
            }
            RefreshOutcome::Reused(family) => {
                log!(
                    RefreshReuse,
                    user = %printable(&family.identity.subject),
                    family = %Handle(family.id),
                );
                self.apply_ends(&[family.id], until);
                return Err(CredentialError::RefreshRefused);
            }
            RefreshOutcome::Overtaken | RefreshOutcome::Dead | RefreshOutcome::Unknown => {
                return Err(CredentialError::RefreshRefused);
            }
        };
        self.era.is_still(era).map_err(CredentialError::token_store)?;
        let issued = self.issue_time(&family.identity.subject);
        let cut_offs = cut_offs.newest_for(Some(&scoped(None, &family.identity.subject)));
        self.issue_for(&family, issued, &valid, cut_offs)
    }

    /// Ends the family of a refresh token and its access tokens. Returns whether it was live.
    pub(crate) async fn end_family(&self, token: TokenHash) -> Result<bool, StoreError> {
        self.refresh_key().await?;
        let until = self.end_of_access(self.clock.now());
        let family = self.store.end_family(token, until).await;
        if family.is_err() {
            // It may have ended although its answer was lost, and a store may return revocations although
            // it could not write.
            let _ = self.sync().await;
        }
        let family = family?;
        if let Some(family) = &family {
            self.apply_ends(&[family.id], until);
        }
        Ok(family.is_some())
    }

    /// An access token of a family, with its refresh token.
    fn issue_for(
        &self,
        family: &Family,
        issued: Timestamp,
        refresh: &OpaqueToken,
        cut_offs: u64,
    ) -> Result<IssuedTokens, CredentialError> {
        self.check_cut_offs(&scoped(None, &family.identity.subject), cut_offs)?;
        let session = Handle(family.id).to_string();
        let authenticated = Some(family.authenticated);
        let cut_offs = Some(cut_offs);
        let grant = Grant { session: Some(&session), authenticated, cut_offs, custom: None };
        let response = self.issue(&family.identity, issued, grant)?;
        Ok(IssuedTokens { refresh_token: Some(refresh.text()), ..response })
    }

    /// When the access tokens of a family or session that a request ends have all expired. A token that is
    /// issued now has `issued` as its `iat`: the current time where the user is unknown.
    pub(super) fn end_of_access(&self, issued: Timestamp) -> Timestamp {
        issued.after(self.longest.saturating_add(LATER))
    }
}
