//! Operations of handlers on the sessions of a user.

use std::{fmt, sync::Arc};

use policy_core::session::{Handle, Identity, PrivilegeChange};

use super::RequestSession;
use crate::{
    auth::{CredentialError, Ending},
    store::{ListSessions, Summary},
};

/// As a handler argument: logs a user in, and ends the sessions of users. [`Session::logout`] ends
/// the session of the request.
///
/// [`Session::logout`]: super::Session::logout
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
    /// Whether the request may log a user in.
    login: Result<(), CredentialError>,
}

/// The maximum number of sessions that are listed.
const LISTED: usize = 1000;

impl Sessions {
    /// The argument of the handler of a request.
    pub(crate) fn new(request: Arc<RequestSession>) -> Self {
        Self { request, login: Ok(()) }
    }

    /// Refuses logins with this error, if there is one.
    pub(crate) fn with_logins(self, login: Result<(), CredentialError>) -> Self {
        Self { login, ..self }
    }

    /// Logs a user in, named by text, a number, or an [`Identity`] with tenant, roles and scopes. The
    /// session always gets a new id, and its lifetime starts again. Its values are kept, unless
    /// another user was logged in.
    ///
    /// The login is stored, and the cookie set, if the status of the response is below 400.
    ///
    /// With a safe method, as for a link in an e-mail, the request has to be a navigation of a window
    /// or tab, if its browser states the kind of request: any page can load the address of a link as
    /// an image or in a frame, and would log its visitor in as another user.
    ///
    /// # Errors
    ///
    /// The store failed, [`CredentialError::Navigation`], or 500 for an invalid tenant.
    pub async fn login(&self, identity: impl Into<Identity>) -> Result<(), CredentialError> {
        self.log_in(identity.into(), false).await
    }

    /// Logs in a user who asked to stay logged in: the cookie survives a restart of the browser.
    ///
    /// # Errors
    ///
    /// As [`login`](Self::login).
    pub async fn login_remembered(
        &self,
        identity: impl Into<Identity>,
    ) -> Result<(), CredentialError> {
        self.log_in(identity.into(), true).await
    }

    async fn log_in(&self, identity: Identity, is_remembered: bool) -> Result<(), CredentialError> {
        self.login.clone()?;
        CredentialError::check(&identity)?;
        self.request.load().await?;
        self.request.grant(PrivilegeChange::Login { identity, is_remembered });
        Ok(())
    }

    /// The live sessions of the logged-in user, most recently used first, at most 1000.
    ///
    /// # Errors
    ///
    /// No user is logged in, or the store failed.
    pub async fn list(&self) -> Result<Vec<Summary>, CredentialError> {
        let user = self.user().await?;
        self.list_user(&user).await
    }

    /// The live sessions of a user.
    ///
    /// # Errors
    ///
    /// The store failed.
    pub async fn list_user(&self, user: &str) -> Result<Vec<Summary>, CredentialError> {
        let service = &self.request.service;
        service
            .store
            .list(ListSessions::new(user, LISTED, service.clock.steady()))
            .await
            .map_err(CredentialError::session_store)
    }

    /// Immediately ends one session of the logged-in user, with the tokens and tickets that were
    /// issued in it, and returns whether it was live. A handle of another user's session is treated
    /// as unknown.
    ///
    /// # Errors
    ///
    /// No user is logged in, or the store failed; this failure is retried once after the handler.
    pub async fn revoke(&self, handle: Handle) -> Result<bool, CredentialError> {
        let user = self.user().await?;
        let is_own = self.request.record().is_some_and(|record| {
            // Another user may have logged in by this request.
            record.handle == handle && record.user() == Some(&*user)
        });
        if is_own {
            self.request.end([]);
        }
        Ok(self.end(Ending::Session { user, session: handle }).await? > 0)
    }

    /// Immediately ends everything of the logged-in user except this session: the other sessions,
    /// all access and refresh tokens, tickets and open streams. Returns how many sessions and
    /// refresh token families ended.
    ///
    /// For a password change: a login, an elevation or an issue of tokens that began before this
    /// call and ends after it gets 409 (`session.ended`), except in this request.
    ///
    /// # Errors
    ///
    /// No user is logged in, or the store failed; this failure is retried once after the handler.
    pub async fn revoke_others(&self) -> Result<u64, CredentialError> {
        let user = self.user().await?;
        let live = self.request.live().filter(|live| live.record.user() == Some(&*user));
        let keep = live.map(|live| (live.key, live.record.handle));
        self.end(Ending::User { user, keep }).await
    }

    /// Ends everything of the logged-in user, including this session, as
    /// [`revoke_user`](Self::revoke_user) does.
    ///
    /// # Errors
    ///
    /// No user is logged in, or the store failed; this failure is retried once after the handler.
    pub async fn revoke_all(&self) -> Result<u64, CredentialError> {
        let user = self.user().await?;
        self.revoke_user(&user).await
    }

    /// Immediately ends everything of any user: sessions, access and refresh tokens, tickets and
    /// open streams. For a password reset, or when an account is closed.
    /// [`Tokens::revoke_user`](crate::Tokens::revoke_user) does the same. Returns how many sessions
    /// and refresh token families ended.
    ///
    /// A login, an elevation or an issue of tokens that began before this call and ends after it
    /// gets 409 (`session.ended`), except in this request. A counter in the store decides the order.
    /// An instance that does not know of a cut-off of another instance yet (it does within a second)
    /// refuses such a request too, and the client repeats it.
    ///
    /// # Errors
    ///
    /// The store failed; this is retried once after the handler.
    pub async fn revoke_user(&self, user: &str) -> Result<u64, CredentialError> {
        // This decides only whether the cookie of this request is removed.
        let own = self.user().await.is_ok_and(|own| *own == *user);
        if own {
            self.request.end([]);
        }
        self.end(Ending::User { user: user.into(), keep: None }).await
    }

    /// Immediately ends everything of all users, as [`revoke_user`](Self::revoke_user) does for
    /// one. For use when the store or its backup was stolen. Anonymous sessions remain. Returns how
    /// many sessions and refresh token families ended, without those of a PostgreSQL table that is too
    /// large to be counted in two seconds.
    ///
    /// # Errors
    ///
    /// The store failed; this is retried once after the handler.
    pub async fn revoke_everyone(&self) -> Result<u64, CredentialError> {
        if self.user().await.is_ok() {
            self.request.end([]);
        }
        self.end(Ending::Everyone).await
    }

    /// Immediately gives all sessions of a user the tenant, roles and scopes of this identity, and
    /// ends the user's access and refresh tokens, tickets and open streams. Returns how many
    /// sessions there were.
    ///
    /// Pass the whole identity, such as `Identity::new("ada").roles(["admin"])`, and not just a
    /// name: an identity without tenant, roles and scopes takes all of them away. The next request
    /// of the user has no other rights. Logins, elevations and issues of tokens in flight are
    /// refused as by [`revoke_user`](Self::revoke_user), since they may have read the old rights. An
    /// elevation by this request has the new ones.
    ///
    /// # Errors
    ///
    /// The store failed; this is retried once after the handler. 500 for an invalid tenant.
    pub async fn set_rights(&self, identity: Identity) -> Result<u64, CredentialError> {
        CredentialError::check(&identity)?;
        // A failure is reported by the change itself.
        if self.request.load().await.is_ok() {
            self.request.change_rights(&identity);
        }
        self.end(Ending::Rights(identity)).await
    }

    async fn end(&self, ending: Ending) -> Result<u64, CredentialError> {
        self.request.cut_offs().end(ending).await.map_err(CredentialError::session_store)
    }

    /// The logged-in user, including a login by this request.
    async fn user(&self) -> Result<Box<str>, CredentialError> {
        self.request.load().await?;
        let identity = self.request.identity().ok_or(CredentialError::Anonymous)?;
        Ok(identity.subject)
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sessions")
    }
}
