//! The stored form of a session.

use std::time::Duration;

use super::Handle;
use crate::time::Timestamp;

/// A user with a tenant, roles and scopes, as a login or an authentication scheme states them.
///
/// ```
/// use policy_core::session::Identity;
///
/// let ada = Identity::new("ada").roles(["admin"]).scopes(["reports:read"]);
/// assert_eq!(&*ada.subject, "ada");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Identity {
    /// The user, by a name that is never reused for another user.
    pub subject: Box<str>,
    /// The tenant to which the user belongs: the customer of the app, by a name that is never reused.
    pub tenant: Option<Box<str>>,
    /// The roles of the user.
    pub roles: Box<[Box<str>]>,
    /// The scopes that are granted.
    pub scopes: Box<[Box<str>]>,
}

impl Identity {
    /// The maximum length of the name of a tenant in bytes.
    pub(crate) const MAX_TENANT: usize = 200;

    /// A user without a tenant, roles or scopes.
    #[expect(clippy::needless_pass_by_value, reason = "callers write `user.id`, whatever it is")]
    pub fn new(subject: impl ToString) -> Self {
        Self {
            subject: subject.to_string().into(),
            tenant: None,
            roles: Box::default(),
            scopes: Box::default(),
        }
    }

    /// Sets the tenant.
    ///
    /// It is a part of the rights: an identity that is stated without it belongs to no tenant. A name that is
    /// empty, or longer than 200 bytes, is refused where the identity is used.
    ///
    /// ```
    /// use policy_core::session::Identity;
    ///
    /// let ada = Identity::new("ada").tenant("acme").roles(["admin"]);
    /// assert_eq!(ada.tenant.as_deref(), Some("acme"));
    /// ```
    #[expect(clippy::needless_pass_by_value, reason = "callers write `user.team`, whatever it is")]
    #[must_use]
    pub fn tenant(mut self, tenant: impl ToString) -> Self {
        self.tenant = Some(tenant.to_string().into());
        self
    }

    /// Whether this text can name a tenant: it is not empty, and has at most 200
    /// bytes.
    pub const fn is_tenant(name: &str) -> bool {
        !name.is_empty() && name.len() <= Self::MAX_TENANT
    }

    /// Sets the roles.
    #[must_use]
    pub fn roles(mut self, roles: impl Names) -> Self {
        self.roles = roles.into_names();
        self
    }

    /// Sets the scopes.
    #[must_use]
    pub fn scopes(mut self, scopes: impl Names) -> Self {
        self.scopes = scopes.into_names();
        self
    }
}

/// Names of roles or scopes: anything that iterates over texts.
///
/// ```
/// use policy_core::session::Identity;
///
/// let of_user = vec!["admin".to_owned()];
/// let ada = Identity::new("ada").roles(&of_user);
/// assert_eq!(ada, Identity::new("ada").roles(["admin"]));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of names",
    label = "write a list, such as `[\"admin\"]`"
)]
pub trait Names {
    /// The names, in their order.
    fn into_names(self) -> Box<[Box<str>]>;
}

// Otherwise the compiler would advise to write `"admin".chars()`.
#[diagnostic::do_not_recommend]
impl<I: IntoIterator<Item: AsRef<str>>> Names for I {
    fn into_names(self) -> Box<[Box<str>]> {
        self.into_iter().map(|name| name.as_ref().into()).collect()
    }
}

/// Every value with a text can name a user: numbers, text, UUIDs.
///
/// ```
/// use policy_core::session::Identity;
///
/// assert_eq!(Identity::from(7_u64), Identity::new("7"));
/// ```
impl<T: ToString> From<T> for Identity {
    fn from(subject: T) -> Self {
        Self::new(subject)
    }
}

/// The row that a store keeps for one session.
///
/// The store sets `epoch` and `version`; the engine sets everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The public name; it survives a change of the id.
    pub handle: Handle,
    /// The user who is logged in; `None` for an anonymous session.
    pub identity: Option<Identity>,
    /// The user's epoch when the row was written; a row of an older epoch is dead.
    pub epoch: u64,
    /// Counts the changes of the row, for compare-and-set.
    pub version: u64,
    /// When the session began.
    pub created: Timestamp,
    /// When the user last authenticated.
    pub authenticated: Option<Timestamp>,
    /// When the id was last changed.
    pub rotated: Timestamp,
    /// When it was last used, to within the touch interval.
    pub last_seen: Timestamp,
    /// The session is dead from then on unless it is used before.
    pub idle_deadline: Timestamp,
    /// The session is dead from then on.
    pub absolute_deadline: Timestamp,
    /// The idle timeout.
    pub idle: Duration,
    /// Whether its cookie outlives the browser.
    pub is_remembered: bool,
    /// The value that CSRF tokens are bound to: the SHA-256 of the id at the last change of rights.
    pub binding: [u8; 32],
    /// The values of the application: a JSON object, or nothing.
    pub data: Box<[u8]>,
}

impl Record {
    /// The maximum size of [`data`](Self::data) in bytes.
    pub const MAX_DATA: usize = 64 * 1024;

    /// Whether it is past one of its deadlines.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.idle_deadline || now >= self.absolute_deadline
    }

    /// The idle deadline of a session that is used now; never past the absolute one.
    pub(crate) fn idle_deadline_at(&self, now: Timestamp) -> Timestamp {
        now.after(self.idle).min(self.absolute_deadline)
    }

    /// The user of the session.
    pub fn user(&self) -> Option<&str> {
        self.identity.as_ref().map(|identity| &*identity.subject)
    }
}
