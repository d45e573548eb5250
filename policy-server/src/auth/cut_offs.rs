//! The order of cut-offs and grants: a cut-off ends all credentials of a user, or of all users.
//!
//! A grant of rights to a user fails if another request made a cut-off for this user after the
//! granting request began. Each store numbers its cut-offs. A request remembers the newest number
//! that this process had read when the request began, and the store compares it with the number of
//! its newest cut-off. No clock is involved. The request's own cut-offs of users of this app raise the
//! number that it remembers for the same users, unless another request cut these off in between.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use policy_core::session::{Handle, Identity, SessionKey};

use crate::{
    auth::{
        session::SessionService,
        tokens::{TokenService, scoped},
    },
    base::locks::lock,
    store::{StoreError, TokenHash},
};

/// The number of the newest cut-off of each store that this process had read when a request began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KnownCutOffs {
    pub(crate) sessions: u64,
    pub(crate) tokens: u64,
}

/// The cut-offs of one request, shared by its arguments and its commit.
pub(crate) struct CutOffs {
    sessions: Option<Arc<SessionService>>,
    tokens: Option<Arc<TokenService>>,
    known_of_sessions: Mutex<StoreCutOffs>,
    /// Its users are in the form that revocations use.
    known_of_tokens: Mutex<StoreCutOffs>,
    /// Endings that were begun and may not be complete.
    pending: Mutex<Vec<Ending>>,
}

/// The cut-offs of one store that a request knows: those from before it, and its own.
#[derive(Clone, Debug)]
pub(crate) struct StoreCutOffs {
    /// All cut-offs up to this number, of any user.
    all: u64,
    /// The own cut-off of a user, where others came before it that are not known.
    users: BTreeMap<Box<str>, u64>,
}

/// Credentials that a request ends immediately, in every store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// One session of a user, and the tokens and tickets that were issued in it. A handle that is
    /// not known as a session of this user ends nothing.
    Session { user: Box<str>, session: Handle },
    /// All sessions, refresh tokens, access tokens and tickets of a user, except one session.
    User { user: Box<str>, keep: Option<(SessionKey, Handle)> },
    /// All of these, of all users.
    Everyone,
    /// The access tokens and tickets of all users.
    Access,
    /// The family of a refresh token, and its access tokens.
    Family(TokenHash),
    /// The access tokens and tickets of a user of an external issuer, in the form that revocations
    /// use.
    Foreign(Box<str>),
    /// All rights of a user beyond these: sessions continue with these rights, everything else ends.
    Rights(Identity),
}

impl CutOffs {
    pub(crate) fn new(
        sessions: Option<Arc<SessionService>>,
        tokens: Option<Arc<TokenService>>,
        known: KnownCutOffs,
    ) -> Self {
        Self {
            sessions,
            tokens,
            known_of_sessions: Mutex::new(StoreCutOffs::new(known.sessions)),
            known_of_tokens: Mutex::new(StoreCutOffs::new(known.tokens)),
            pending: Mutex::default(),
        }
    }

    /// The number of the newest cut-off of sessions that permits this request to grant something to
    /// this user.
    pub(crate) fn session_cut_off(&self, user: Option<&str>) -> u64 {
        lock(&self.known_of_sessions).newest_for(user)
    }

    /// The cut-offs of tokens that are known now. Their users are in the form that revocations use.
    pub(crate) fn token_cut_offs(&self) -> StoreCutOffs {
        lock(&self.known_of_tokens).clone()
    }

    /// Ends credentials in every store, and returns how many sessions and refresh token families
    /// ended. If the request is dropped meanwhile, its commit repeats this.
    pub(crate) async fn end(&self, ending: Ending) -> Result<u64, StoreError> {
        self.pending().push(ending.clone());
        let ended = self.perform(&ending).await?;
        self.pending().retain(|other| *other != ending);
        Ok(ended)
    }

    /// Whether an ending was begun and may not be complete.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending().is_empty()
    }

    /// Completes the endings that were begun.
    pub(crate) async fn finish(&self) -> Result<(), StoreError> {
        let pending = self.pending().clone();
        let mut result = Ok(());
        for ending in pending {
            match self.perform(&ending).await {
                Ok(_) => self.pending().retain(|other| *other != ending),
                Err(error) => result = Err(error),
            }
        }
        result
    }

    /// Reads new cut-offs from the stores after one of them refused a grant, so that the next
    /// request starts with their numbers.
    pub(crate) async fn learn(&self) -> Result<(), StoreError> {
        if let Some(sessions) = &self.sessions {
            sessions.learn_cut_offs().await?;
        }
        if let Some(tokens) = &self.tokens {
            tokens.sync().await?;
        }
        Ok(())
    }

    /// Ends the tokens and tickets that were issued in a session that ended, by a logout of its client
    /// if there is a key.
    pub(crate) async fn end_issued(
        &self,
        user: &str,
        session: Handle,
        key: Option<SessionKey>,
    ) -> Result<u64, StoreError> {
        match &self.tokens {
            Some(tokens) => tokens.end_session(user, session, key).await,
            None => Ok(0),
        }
    }

    /// Ends the tokens and tickets of the session with this key, if the store failed at its logout.
    pub(crate) async fn end_rest(&self, key: SessionKey) -> Result<(), StoreError> {
        match &self.tokens {
            Some(tokens) => tokens.store_rest_of_session(key).await,
            None => Ok(()),
        }
    }

    /// Ends credentials in every store, even if an earlier store failed.
    async fn perform(&self, ending: &Ending) -> Result<u64, StoreError> {
        // A client can state any handle, the `sid` of another user's tokens too.
        if let (Ending::Session { user, session }, Some(sessions)) = (ending, &self.sessions)
            && !sessions.knows(user, *session).await?
        {
            return Ok(0);
        }
        let of_sessions = self.end_sessions(ending).await;
        let of_tokens = self.end_tokens(ending).await;
        Ok(of_sessions? + of_tokens?)
    }

    async fn end_sessions(&self, ending: &Ending) -> Result<u64, StoreError> {
        let Some(sessions) = &self.sessions else { return Ok(0) };
        let cut = match ending {
            Ending::Session { user, session } => {
                return sessions.end(user, *session).await.map(u64::from);
            }
            Ending::Access | Ending::Family(_) | Ending::Foreign(_) => return Ok(0),
            Ending::User { user, keep } => sessions.cut_off(user, keep.as_ref()).await?,
            Ending::Everyone => sessions.cut_everyone_off().await?,
            Ending::Rights(identity) => sessions.change_rights(identity).await?,
        };
        lock(&self.known_of_sessions).add(ending.user(), cut.before, cut.number);
        Ok(cut.sessions)
    }

    /// Ends tokens. Returns how many families ended, or 0 if the caller does not count families.
    async fn end_tokens(&self, ending: &Ending) -> Result<u64, StoreError> {
        let Some(tokens) = &self.tokens else { return Ok(0) };
        let revoked = match ending {
            // The caller counts only whether the session was live.
            Ending::Session { user, session } => {
                return tokens.end_session(user, *session, None).await.map(|_| 0);
            }
            Ending::Family(token) => return tokens.end_family(*token).await.map(u64::from),
            Ending::User { user, .. } => tokens.cut_off(user).await?,
            // No number is raised: this says nothing about earlier cut-offs of the user to whom the
            // request grants something, and this user gets nothing more.
            Ending::Foreign(user) => return tokens.cut_scoped_off(user).await.map(|_| 0),
            Ending::Rights(identity) => tokens.cut_off(&identity.subject).await?,
            Ending::Everyone => tokens.cut_everyone_off().await?,
            Ending::Access => tokens.revoke_all().await?,
        };
        let user = ending.user().map(|user| scoped(None, user));
        lock(&self.known_of_tokens).add(user.as_deref(), revoked.before, revoked.position);
        // The caller counts only the sessions with the new rights.
        let is_counted = !matches!(ending, Ending::Rights(_));
        Ok(if is_counted { revoked.ended } else { 0 })
    }

    fn pending(&self) -> MutexGuard<'_, Vec<Ending>> {
        lock(&self.pending)
    }
}

impl Ending {
    /// The user of this app whom it cuts off; `None` if it concerns all users.
    fn user(&self) -> Option<&str> {
        match self {
            Self::Session { user, .. } | Self::User { user, .. } => Some(user),
            Self::Rights(identity) => Some(&identity.subject),
            Self::Everyone | Self::Access | Self::Family(_) | Self::Foreign(_) => None,
        }
    }
}

impl StoreCutOffs {
    fn new(all: u64) -> Self {
        Self { all, users: BTreeMap::new() }
    }

    /// The newest one that permits a grant to this user; for `None`, to every user.
    pub(crate) fn newest_for(&self, user: Option<&str>) -> u64 {
        let own = user.and_then(|user| self.users.get(user));
        own.copied().unwrap_or_default().max(self.all)
    }

    /// Adds the request's own cut-off of a user, or of everyone, so that it does not forbid the
    /// request's later grants. `before` is the number of the previous cut-off of the same users in
    /// the store. If the request does not know that one, another request made it, and nothing is
    /// added: the store then refuses the grants.
    fn add(&mut self, user: Option<&str>, before: u64, number: u64) {
        if before > self.newest_for(user) {
            return;
        }
        match user {
            // The numbers between may be cut-offs of other users.
            Some(user) if number > self.all.saturating_add(1) => {
                let own = self.users.entry(user.into()).or_default();
                *own = number.max(*own);
            }
            _ => self.all = number.max(self.all),
        }
    }
}

impl fmt::Debug for CutOffs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CutOffs")
            .field("sessions", &lock(&self.known_of_sessions).all)
            .field("tokens", &lock(&self.known_of_tokens).all)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_knows_its_own_cut_off_unless_another_came_before() {
        let mut known = StoreCutOffs::new(4);
        known.add(Some("ada"), 3, 6);
        assert_eq!(known.newest_for(Some("ada")), 6);
        known.add(Some("ada"), 7, 8);
        assert_eq!(known.newest_for(Some("ada")), 6, "7 is of another request");
        known.add(Some("ada"), 6, 9);
        assert_eq!(known.newest_for(Some("ada")), 9);
        known.add(None, 9, 10);
        assert_eq!(known.newest_for(None), 4, "5 may be of another request");
    }

    #[test]
    fn a_cut_off_of_one_user_hides_none_of_another() {
        let mut known = StoreCutOffs::new(4);
        known.add(Some("ada"), 3, 6);
        assert_eq!(known.newest_for(Some("bob")), 4, "5 may be of bob");
        let mut known = StoreCutOffs::new(4);
        known.add(Some("ada"), 3, 5);
        assert_eq!(known.newest_for(Some("bob")), 5, "no other was made");
        known.add(None, 5, 6);
        assert_eq!(known.newest_for(None), 6);
    }
}
