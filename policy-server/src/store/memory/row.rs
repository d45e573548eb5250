//! The rows of the session tables, and which of them are live.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use policy_core::{
    session::{Record, SessionKey},
    time::Timestamp,
};

use super::shards::Shard;
use crate::store::Cas;

/// The row of a key.
pub(super) enum Row {
    Session {
        record: Arc<Record>,
        /// The user's epoch; `None` in an anonymous session.
        epoch: Option<Arc<AtomicU64>>,
    },
    /// A rotation replaced the key.
    Moved(Box<MovedSession>),
}

pub(super) struct MovedSession {
    pub(super) to: SessionKey,
    pub(super) until: Timestamp,
}

/// One shard of the sessions.
pub(super) type Sessions = Shard<SessionKey, Row>;

impl Row {
    /// Whether no revocation has ended it.
    pub(super) fn is_current(&self) -> bool {
        match self {
            Self::Session { record, epoch: Some(epoch) } => {
                // It is higher while the rights of the user's sessions change one by one.
                record.epoch >= epoch.load(Ordering::Acquire)
            }
            Self::Session { .. } => true,
            Self::Moved(_) => false,
        }
    }

    /// The record, if the session is live.
    pub(super) fn living(&self, now: Timestamp) -> Option<&Arc<Record>> {
        match self {
            Self::Session { record, .. } if self.is_current() && !record.is_expired(now) => {
                Some(record)
            }
            _ => None,
        }
    }

    /// The record for a change, if the session is live. It is copied if a request still reads it.
    pub(super) fn living_mut(&mut self, now: Timestamp) -> Option<&mut Arc<Record>> {
        self.living(now)?;
        match self {
            Self::Session { record, .. } => Some(record),
            Self::Moved(_) => None,
        }
    }
}

/// The record of a live session with this version, or the result to return.
pub(super) fn expect(
    sessions: &Sessions,
    key: &SessionKey,
    expected: u64,
    now: Timestamp,
) -> Result<Arc<Record>, Cas> {
    match sessions.get(key) {
        // The session now has another key, which loading it again returns.
        Some(Row::Moved(moved)) if moved.until > now => Err(Cas::Conflict),
        Some(row) => match row.living(now) {
            Some(record) if record.version == expected => Ok(Arc::clone(record)),
            Some(_) => Err(Cas::Conflict),
            None => Err(Cas::Gone),
        },
        None => Err(Cas::Gone),
    }
}
