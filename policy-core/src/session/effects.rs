//! The effects of a request on its session, and the way it ends.

use http::StatusCode;

use super::{DataChange, Identity};

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlerOutcome {
    /// The handler responded with this status.
    Answered(StatusCode),
    /// The handler panicked or timed out, or the client closed the connection.
    Aborted,
}

impl HandlerOutcome {
    /// Whether changes that grant rights are committed.
    pub(super) fn commits_grants(self) -> bool {
        matches!(self, Self::Answered(status) if status.as_u16() < 400)
    }

    /// Whether plain writes are committed.
    pub(super) fn commits_writes(self) -> bool {
        matches!(self, Self::Answered(status) if status.as_u16() < 500)
    }
}

/// A change of the session that grants rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrivilegeChange {
    /// A user logged in.
    Login {
        /// The user.
        identity: Identity,
        /// Whether the cookie outlives the browser.
        is_remembered: bool,
    },
    /// The user of the session authenticated again.
    Elevate {
        /// The same user, with the rights from now on.
        identity: Identity,
    },
}

/// The effects of a request on its session so far.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    ends: bool,
    grant: Option<PrivilegeChange>,
    /// The number of changes that came before the first grant.
    before_grant: usize,
    changes: Vec<DataChange>,
}

impl Effects {
    /// Ends the session. The values of the keys in `keep` move to a new session without a user.
    pub fn end(&mut self, keep: impl IntoIterator<Item = Box<str>>) {
        self.ends = true;
        self.grant = None;
        self.changes.push(DataChange::Keep(keep.into_iter().collect()));
    }

    /// Grants rights; replaces an earlier grant of this request. An elevation after a login is of
    /// the session that the login begins: it changes only the rights of the login.
    pub fn grant(&mut self, grant: PrivilegeChange) {
        let earlier = self.grant.take();
        if earlier.is_none() {
            self.before_grant = self.changes.len();
        }
        self.grant = Some(match (earlier, grant) {
            (
                Some(PrivilegeChange::Login { is_remembered, .. }),
                PrivilegeChange::Elevate { identity },
            ) => PrivilegeChange::Login { identity, is_remembered },
            (_, grant) => grant,
        });
    }

    /// Changes a value.
    pub fn change(&mut self, change: DataChange) {
        self.changes.push(change);
    }

    /// Whether there are no effects.
    pub fn is_empty(&self) -> bool {
        !self.ends && self.grant.is_none() && self.changes.is_empty()
    }

    /// Whether the session ends.
    pub fn ends(&self) -> bool {
        self.ends
    }

    /// The rights that are granted, if any.
    pub fn privilege_change(&self) -> Option<&PrivilegeChange> {
        self.grant.as_ref()
    }

    /// The changes of the values.
    pub fn changes(&self) -> &[DataChange] {
        &self.changes
    }

    /// The changes that are committed. Changes made after a grant were meant for a session with the
    /// new rights, so they are dropped together with a grant that is not committed.
    pub(super) fn committed(&self, outcome: HandlerOutcome) -> &[DataChange] {
        let len = match self.grant {
            _ if !outcome.commits_writes() => 0,
            Some(_) if !outcome.commits_grants() => self.before_grant,
            _ => self.changes.len(),
        };
        self.changes.get(..len).unwrap_or_default()
    }
}
