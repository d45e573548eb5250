//! Revocations and cut-offs, in the store and in this process.

use policy_core::{
    session::{Handle, SessionKey},
    time::Timestamp,
};

use super::TokenService;
use crate::{
    auth::{CredentialError, tokens::scoped},
    base::event::count::{Count, count},
    store::{Revocation, Revoked, StoreError},
};

/// What a revocation ends, as a value of an attribute of metrics.
fn name_of(revocation: &Revocation) -> &'static str {
    match revocation {
        Revocation::Token { .. } => "token",
        Revocation::Session { .. } => "tokens_of_session",
        Revocation::User { .. } => "tokens_of_user",
        Revocation::Everyone { .. } | Revocation::All { .. } => "all_tokens",
    }
}

impl TokenService {
    /// The position of the newest revocation that this process knows.
    pub(crate) fn newest_cut_off(&self) -> u64 {
        self.revocation_cache.newest()
    }

    /// Refuses the grants of a request that knows `cut_offs`, if its user was cut off since. The user
    /// is in the form that revocations use.
    pub(in crate::auth::tokens) fn check_cut_offs(
        &self,
        user: &str,
        cut_offs: u64,
    ) -> Result<(), CredentialError> {
        if self.revocation_cache.is_cut_off(user, cut_offs) {
            return Err(CredentialError::Ended);
        }
        Ok(())
    }

    /// Revokes one token, which expires at that time.
    pub(in crate::auth::tokens) async fn revoke_token(
        &self,
        id: &str,
        expires: Timestamp,
    ) -> Result<(), CredentialError> {
        let until = expires.after(self.leeway);
        let revocation = Revocation::Token { id: id.into(), until };
        self.revoke(revocation).await.map(drop).map_err(CredentialError::token_store)
    }

    /// Revokes everything issued to a user of this app.
    pub(crate) async fn cut_off(&self, user: &str) -> Result<Revoked, StoreError> {
        let scoped = scoped(None, user);
        if *scoped != *user {
            // Families store the plain name of their user.
            self.cut_scoped_off(&scoped).await?;
        }
        self.cut_scoped_off(user).await
    }

    /// Revokes everything issued to a user, who is in the form that revocations use.
    pub(crate) async fn cut_scoped_off(&self, user: &str) -> Result<Revoked, StoreError> {
        let before = self.revocation_cache.cut_off(user, self.clock.now());
        self.revoke(Revocation::User { user: user.into(), before }).await
    }

    /// Revokes everything issued to anyone.
    pub(crate) async fn cut_everyone_off(&self) -> Result<Revoked, StoreError> {
        let before = self.revocation_cache.cut_off_of_all(self.clock.now());
        self.revoke(Revocation::Everyone { before }).await
    }

    /// Revokes every access token and ticket issued until now.
    pub(crate) async fn revoke_all(&self) -> Result<Revoked, StoreError> {
        let before = self.revocation_cache.cut_off_of_all(self.clock.now());
        self.revoke(Revocation::All { before }).await
    }

    /// Revokes the tokens and tickets of a session that ended. Returns how many families ended. `key`
    /// is the key of a session whose client logged out: its next logout
    /// [completes](Self::store_rest_of_session) this one.
    pub(crate) async fn end_session(
        &self,
        user: &str,
        session: Handle,
        key: Option<SessionKey>,
    ) -> Result<u64, StoreError> {
        let until = self.end_of_access(self.issue_time(user));
        let revocation = Revocation::Session { user: user.into(), session, until };
        self.revoke_for(revocation, key).await.map(|revoked| revoked.ended)
    }

    /// Stores the ends of sessions and tokens that the store has not taken before, until it fails.
    pub(crate) async fn store_rest(&self) -> Result<(), StoreError> {
        self.unstored.forget(self.clock.now());
        while let Some((revocation, key)) = self.unstored.next() {
            self.store_again(revocation, key).await?;
        }
        Ok(())
    }

    /// Stores the part of them that a logout of the session with this key has left.
    pub(crate) async fn store_rest_of_session(&self, key: SessionKey) -> Result<(), StoreError> {
        for revocation in self.unstored.revocations_by(key) {
            self.store_again(revocation, Some(key)).await?;
        }
        Ok(())
    }

    async fn store_again(
        &self,
        mut revocation: Revocation,
        key: Option<SessionKey>,
    ) -> Result<(), StoreError> {
        if let Revocation::Session { user, until, .. } = &mut revocation {
            // Its families may have issued access tokens since.
            *until = self.end_of_access(self.issue_time(user)).max(*until);
        }
        self.revoke_for(revocation, key).await.map(drop)
    }

    /// Applies in this process what the store revoked with the end of families: their access tokens.
    pub(super) fn apply_ends(&self, families: &[[u8; 16]], until: Timestamp) {
        for family in families {
            let revocation = Revocation::access_tokens(*family, until);
            count(Count::Revocation(name_of(&revocation)));
            self.revocation_cache.revoke(None, revocation);
        }
    }

    /// Applies a revocation in this process, with the families that it ended in the store. Without
    /// `revoked`, the store failed.
    pub(super) fn apply(&self, revocation: Revocation, revoked: Option<&Revoked>) {
        if let (Revocation::Session { until, .. }, Some(revoked)) = (&revocation, revoked) {
            self.apply_ends(&revoked.families, *until);
        }
        self.revocation_cache.revoke(revoked.map(|revoked| revoked.position), revocation);
    }

    /// Revokes in the store first, then in this process, even if the store fails: a credential that
    /// should lose its rights loses them at least here. The end of a session or token is
    /// [stored later](Self::store_rest), also if this future is dropped.
    pub(super) async fn revoke(&self, revocation: Revocation) -> Result<Revoked, StoreError> {
        self.revoke_for(revocation, None).await
    }

    /// The same by a logout of the session with this key, if there is one.
    async fn revoke_for(
        &self,
        revocation: Revocation,
        key: Option<SessionKey>,
    ) -> Result<Revoked, StoreError> {
        count(Count::Revocation(name_of(&revocation)));
        let storing = self.unstored.begin(&revocation, key);
        let stored = match self.refresh_key().await {
            Ok(_) => self.store.revoke(revocation.clone()).await,
            Err(error) => Err(error),
        };
        if stored.is_ok() {
            storing.finish();
        }
        self.apply(revocation, stored.as_ref().ok());
        stored
    }
}
