//! What a handler can do with sessions besides reading its own.

use std::{fmt, sync::Arc};

use policy_core::session::{Grant, Handle, Identity};

use super::{RequestSession, SessionError, request::Revocation};
use crate::{
    base::event::log,
    store::{ListSessions, StoreError, Summary},
};

/// As an argument of a handler: who is logged in, here and elsewhere.
///
/// ```
/// use policy_server::{prelude::*, Sessions};
///
/// async fn password_changed(sessions: Sessions) -> Result<Json<u64>, Problem> {
///     sessions.login("ada").await?;
///     Ok(Json(sessions.revoke_others().await?))
/// }
/// ```
#[derive(Clone)]
pub struct Sessions {
    request: Arc<RequestSession>,
}

/// How many sessions are listed.
const LISTED: usize = 1000;

impl Sessions {
    /// For the handler of a request.
    pub(crate) fn of(request: Arc<RequestSession>) -> Self {
        Self { request }
    }

    /// Logs a user in, named by text, a number or an [`Identity`] with roles and scopes. The
    /// session always gets a new id, and its time begins anew. Values of before stay, unless
    /// another user was logged in.
    ///
    /// It is stored, and the cookie set, if the status of the answer is below 400.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    pub async fn login(&self, identity: impl Into<Identity>) -> Result<(), SessionError> {
        self.log_in(identity.into(), false).await
    }

    /// Logs a user in who asked to stay logged in: the cookie outlives the browser.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    pub async fn login_remembered(
        &self,
        identity: impl Into<Identity>,
    ) -> Result<(), SessionError> {
        self.log_in(identity.into(), true).await
    }

    async fn log_in(&self, identity: Identity, is_remembered: bool) -> Result<(), SessionError> {
        self.request.load().await?;
        self.request.grant(Grant::Login { identity, is_remembered });
        Ok(())
    }

    /// Ends the session of the request, as [`Session::logout`](super::Session::logout) does.
    ///
    /// # Errors
    ///
    /// The store does not answer; it is tried once more after the handler.
    pub async fn logout(&self) -> Result<(), SessionError> {
        self.request.end([]);
        self.request.load().await?;
        Ok(())
    }

    /// The living sessions of the user who is logged in, the latest used first, 1000 at the most.
    ///
    /// # Errors
    ///
    /// Nobody is logged in, or the store does not answer.
    pub async fn list(&self) -> Result<Vec<Summary>, SessionError> {
        let user = self.user().await?;
        self.list_user(&user).await
    }

    /// The living sessions of a user.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    pub async fn list_user(&self, user: &str) -> Result<Vec<Summary>, SessionError> {
        let service = self.request.service();
        service
            .store
            .list(ListSessions::new(user, LISTED, service.clock.now()))
            .await
            .map_err(failed)
    }

    /// Ends one session of the user who is logged in, at once and for good. Says whether it
    /// lived; a name of somebody else's session is one that did not.
    ///
    /// # Errors
    ///
    /// Nobody is logged in, or the store does not answer; then it is tried once more after the
    /// handler.
    pub async fn revoke(&self, handle: Handle) -> Result<bool, SessionError> {
        let user = self.user().await?;
        if self.request.record().is_some_and(|record| record.handle == handle) {
            self.request.end([]);
        }
        let ended = self.request.revoke(Revocation::One { user, handle }).await.map_err(failed)?;
        Ok(ended > 0)
    }

    /// Ends all sessions of the user who is logged in but this one, at once and for good, and
    /// gives how many ended.
    ///
    /// # Errors
    ///
    /// Nobody is logged in, or the store does not answer; then it is tried once more after the
    /// handler.
    pub async fn revoke_others(&self) -> Result<u64, SessionError> {
        let user = self.user().await?;
        let live = self.request.live().filter(|live| live.record.user() == Some(&*user));
        let keep = live.map(|live| (live.key, live.record.handle));
        self.request.revoke(Revocation::All { user, keep }).await.map_err(failed)
    }

    /// Ends all sessions of the user who is logged in, this one too.
    ///
    /// # Errors
    ///
    /// Nobody is logged in, or the store does not answer; then it is tried once more after the
    /// handler.
    pub async fn revoke_all(&self) -> Result<u64, SessionError> {
        let user = self.user().await?;
        self.revoke_user(&user).await
    }

    /// Ends all sessions of a user, whoever is logged in here, at once and for good: after a reset
    /// of a password, or when an account is closed. Gives how many ended.
    ///
    /// # Errors
    ///
    /// The store does not answer; then it is tried once more after the handler.
    pub async fn revoke_user(&self, user: &str) -> Result<u64, SessionError> {
        // Whose session this is decides what becomes of its cookie, and no more.
        let own = self.user().await.is_ok_and(|own| *own == *user);
        if own {
            self.request.end([]);
        }
        let revocation = Revocation::All { user: user.into(), keep: None };
        self.request.revoke(revocation).await.map_err(failed)
    }

    /// The user who is logged in, counting a login of this request.
    async fn user(&self) -> Result<Box<str>, SessionError> {
        self.request.load().await?;
        let identity = self.request.identity().ok_or(SessionError::Anonymous)?;
        Ok(identity.subject)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(error: StoreError) -> SessionError {
    log!(SessionStoreFailed, %error);
    SessionError::Unavailable
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sessions")
    }
}
