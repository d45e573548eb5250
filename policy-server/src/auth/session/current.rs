//! The session of a request, as an argument of its handler.

use std::{fmt, sync::Arc};

use policy_core::session::{Change, Grant, Handle, Identity};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{RequestSession, SessionError};

/// The session of the request: the one its cookie names, or an anonymous one, which comes to
/// exist when a value is written.
///
/// What is done to it is stored once, before the answer is sent: values where its status is below
/// 500, rights below 400, and the end of the session whatever became of the handler. Requests that
/// write different keys at the same time do not undo each other. What is read is what was stored
/// when the request came, and what it wrote itself. What is written once the answer is on its way
/// is lost.
///
/// ```
/// use policy_server::{prelude::*, Session};
///
/// async fn visit(session: Session) -> Result<Json<i64>, Problem> {
///     session.set("last", "visit")?;
///     Ok(Json(session.incr("visits", 1)?))
/// }
/// ```
#[derive(Clone)]
pub struct Session(Arc<RequestSession>);

impl Session {
    /// The session of a request that was loaded.
    pub(crate) fn new(request: Arc<RequestSession>) -> Self {
        Self(request)
    }

    /// Who is logged in.
    pub fn identity(&self) -> Option<Identity> {
        self.0.identity()
    }

    /// The public name of the session, by which it is listed and revoked; none until the request
    /// that begins it is answered.
    pub fn handle(&self) -> Option<Handle> {
        self.0.record().map(|record| record.handle)
    }

    /// The value of a key.
    ///
    /// # Errors
    ///
    /// It is of another type.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, SessionError> {
        let (view, _) = self.0.view()?;
        match view.value(key) {
            Some(value) => Ok(Some(serde_json::from_value(value.clone())?)),
            None => Ok(None),
        }
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    ///
    /// It is no JSON, or all values together would be over 64 KiB or 100 levels deep.
    pub fn set(&self, key: &str, value: impl Serialize) -> Result<(), SessionError> {
        let value = serde_json::to_value(value)?;
        self.0.change(Change::Set(key.into(), value)).map(drop)
    }

    /// Removes a key.
    ///
    /// # Errors
    ///
    /// The stored values cannot be read.
    pub fn remove(&self, key: &str) -> Result<(), SessionError> {
        self.0.change(Change::Remove(key.into())).map(drop)
    }

    /// Adds to a number, and gives the sum as this request sees it; requests at the same time
    /// lose no count. What is no integer counts as 0.
    ///
    /// # Errors
    ///
    /// All values together would be over 64 KiB.
    pub fn incr(&self, key: &str, by: i64) -> Result<i64, SessionError> {
        let view = self.0.change(Change::Incr(key.into(), by))?;
        Ok(view.value(key).and_then(Value::as_i64).unwrap_or_default())
    }

    /// Appends to a list of which the last `max` values are kept. What is no list counts as an
    /// empty one.
    ///
    /// # Errors
    ///
    /// The value is no JSON, or all values together would be over 64 KiB.
    pub fn push(&self, key: &str, value: impl Serialize, max: usize) -> Result<(), SessionError> {
        let value = serde_json::to_value(value)?;
        self.0.change(Change::Push(key.into(), value, max)).map(drop)
    }

    /// Changes the values by a function. It runs again on the values that another request left
    /// meanwhile, so it does nothing else.
    ///
    /// # Errors
    ///
    /// All values together would be over 64 KiB.
    ///
    /// ```
    /// use policy_server::{Session, session::SessionError};
    ///
    /// fn vote(session: &Session) -> Result<(), SessionError> {
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
    ) -> Result<(), SessionError> {
        self.0.change(Change::Update(Arc::new(update))).map(drop)
    }

    /// Notes that the user proved again who they are. The session gets a new id and counts as
    /// fresh; it does not last longer.
    ///
    /// # Errors
    ///
    /// Nobody is logged in.
    pub fn elevate(&self) -> Result<(), SessionError> {
        let identity = self.identity().ok_or(SessionError::Anonymous)?;
        self.elevate_as(identity)
    }

    /// The same with other roles or scopes than before, such as those of an administrator who
    /// gave a second factor.
    ///
    /// # Errors
    ///
    /// Nobody, or another user, is logged in.
    pub fn elevate_as(&self, identity: impl Into<Identity>) -> Result<(), SessionError> {
        let (before, identity) = (self.identity().ok_or(SessionError::Anonymous)?, identity.into());
        if before.subject != identity.subject {
            return Err(SessionError::OtherUser);
        }
        self.0.grant(Grant::Elevate { identity });
        Ok(())
    }

    /// Ends the session, with its values and what was opened by it. What is written afterwards
    /// goes to a new one.
    pub fn logout(&self) {
        self.logout_keep([]);
    }

    /// Ends the session; the values of these keys go on in a new one without a user.
    pub fn logout_keep<'a>(&self, keys: impl IntoIterator<Item = &'a str>) {
        self.0.end(keys.into_iter().map(Into::into));
    }

    /// A token that a page of ours sends back with what changes something; none where there is no
    /// session. The answer is not cached.
    ///
    /// # Errors
    ///
    /// The system has no random source.
    pub fn csrf_token(&self) -> Result<Option<String>, SessionError> {
        self.0.csrf_token()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("handle", &self.handle()).finish_non_exhaustive()
    }
}
