//! The session of a request, as a handler argument.

use std::{fmt, sync::Arc};

use policy_core::session::{DataChange, Handle, Identity, PrivilegeChange};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::RequestSession;
use crate::auth::CredentialError;

/// The session of the request: the one that its cookie names, or an anonymous one, which is created
/// when a value is written.
///
/// Changes are stored once, before the response is sent: values if its status is below 500, rights
/// if it is below 400, and a logout in every case. Concurrent requests that write different keys do
/// not overwrite each other. A handler reads the values as they were when the request arrived, with
/// its own changes. Changes made after the response has begun are lost.
///
/// ```
/// use policy_server::{prelude::*, Session};
///
/// async fn visit(session: Session) -> Result<Json<i64>, Problem> {
///     session.set("last", "visit")?;
///     Ok(Json(session.increment("visits", 1)?))
/// }
/// ```
#[derive(Clone)]
pub struct Session {
    request: Arc<RequestSession>,
    /// Whether the request may raise rights.
    grants: Result<(), CredentialError>,
}

impl Session {
    /// The argument of a request whose session is loaded.
    pub(crate) fn new(request: Arc<RequestSession>) -> Self {
        Self { request, grants: Ok(()) }
    }

    /// Refuses elevations with this error, if there is one.
    pub(crate) fn with_grants(self, grants: Result<(), CredentialError>) -> Self {
        Self { grants, ..self }
    }

    /// The user who is logged in.
    pub fn identity(&self) -> Option<Identity> {
        self.request.identity()
    }

    /// The public id of the session, by which it is listed and revoked; `None` until the response
    /// to the request that creates it.
    pub fn handle(&self) -> Option<Handle> {
        self.request.record().map(|record| record.handle)
    }

    /// The value of a key.
    ///
    /// # Errors
    ///
    /// The value has another type.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, CredentialError> {
        let (view, _) = self.request.view()?;
        match view.value(key) {
            Some(value) => Ok(Some(serde_json::from_value(value.clone())?)),
            None => Ok(None),
        }
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    ///
    /// The value is not representable in JSON, or all values together would exceed 64 KiB or 100
    /// levels.
    pub fn set(&self, key: &str, value: impl Serialize) -> Result<(), CredentialError> {
        let value = serde_json::to_value(value)?;
        self.request.change(DataChange::Set(key.into(), value)).map(drop)
    }

    /// Removes a key.
    ///
    /// # Errors
    ///
    /// The stored values cannot be read.
    pub fn remove(&self, key: &str) -> Result<(), CredentialError> {
        self.request.change(DataChange::Remove(key.into())).map(drop)
    }

    /// Adds to a number and returns the sum as this request sees it. Concurrent requests lose no
    /// count. A value that is not an integer counts as 0.
    ///
    /// # Errors
    ///
    /// All values together would exceed 64 KiB.
    pub fn increment(&self, key: &str, by: i64) -> Result<i64, CredentialError> {
        let view = self.request.change(DataChange::Incr(key.into(), by))?;
        Ok(view.value(key).and_then(Value::as_i64).unwrap_or_default())
    }

    /// Appends to a list and keeps its last `max` values. A value that is not a list counts as an
    /// empty list.
    ///
    /// # Errors
    ///
    /// The value is not representable in JSON, or all values together would exceed 64 KiB.
    pub fn push(
        &self,
        key: &str,
        value: impl Serialize,
        max: usize,
    ) -> Result<(), CredentialError> {
        let value = serde_json::to_value(value)?;
        self.request.change(DataChange::Push(key.into(), value, max)).map(drop)
    }

    /// Changes the values by a function. If another request changed them meanwhile, the function
    /// runs again on the new values, so it must have no side effects.
    ///
    /// # Errors
    ///
    /// All values together would exceed 64 KiB.
    ///
    /// ```
    /// use policy_server::{CredentialError, Session};
    ///
    /// fn vote(session: &Session) -> Result<(), CredentialError> {
    ///     session.update_with(|values| {
    ///         if !values.contains_key("vote") {
    ///             values.insert("vote".to_owned(), true.into());
    ///         }
    ///     })
    /// }
    /// ```
    pub fn update_with(
        &self,
        update: impl Fn(&mut Map<String, Value>) + Send + Sync + 'static,
    ) -> Result<(), CredentialError> {
        self.request.change(DataChange::Update(Arc::new(update))).map(drop)
    }

    /// Records that the user authenticated again. The session gets a new id and counts as fresh;
    /// its lifetime is not extended.
    ///
    /// With a safe method the request has to be a navigation of a window or tab, as for a
    /// [login](crate::Sessions::login).
    ///
    /// # Errors
    ///
    /// No user is logged in, or [`CredentialError::Navigation`].
    pub fn elevate(&self) -> Result<(), CredentialError> {
        let identity = self.identity().ok_or(CredentialError::Anonymous)?;
        self.elevate_as(identity)
    }

    /// Like [`elevate`](Self::elevate), with a new tenant, roles or scopes, such as those of an
    /// administrator after a second factor. They replace all that the user had.
    ///
    /// # Errors
    ///
    /// No user, or another user, is logged in, [`CredentialError::Navigation`], or 500 for an invalid
    /// tenant.
    pub fn elevate_as(&self, identity: impl Into<Identity>) -> Result<(), CredentialError> {
        let (before, identity) =
            (self.identity().ok_or(CredentialError::Anonymous)?, identity.into());
        if before.subject != identity.subject {
            return Err(CredentialError::OtherUser);
        }
        self.grants.clone()?;
        CredentialError::check(&identity)?;
        self.request.grant(PrivilegeChange::Elevate { identity });
        Ok(())
    }

    /// Ends the session with its values, the streams that it opened, and the access tokens, refresh
    /// tokens and tickets that were issued in it. Values written afterwards go to a new session.
    ///
    /// The response is 503 while a store is unavailable. If only the store of the tokens is, the
    /// session has ended, and this instance ends its tokens when that store is back.
    pub fn logout(&self) {
        self.logout_keep([]);
    }

    /// Ends the session, and keeps the values of these keys in a new anonymous one.
    pub fn logout_keep<'a>(&self, keys: impl IntoIterator<Item = &'a str>) {
        self.request.end(keys.into_iter().map(Into::into));
    }

    /// A CSRF token, which a page of ours sends with unsafe requests; `None` without a session, which
    /// the first value begins. The response is not cached.
    ///
    /// # Errors
    ///
    /// The system has no random source.
    pub fn csrf_token(&self) -> Result<Option<String>, CredentialError> {
        self.request.csrf_token()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("handle", &self.handle()).finish_non_exhaustive()
    }
}
