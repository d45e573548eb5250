//! The rows of sessions, and how reads and writes find them.

use policy_core::{
    session::{Handle, Record, SessionKey},
    time::Timestamp,
};
use redb::{MultimapTableDefinition, ReadableTable, TableDefinition};

use super::codec::{Row, Successor, decode_head};

pub(super) const SESSIONS: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("sessions");

/// The sessions of each user.
pub(super) const USERS: MultimapTableDefinition<'_, &str, &[u8; 32]> =
    MultimapTableDefinition::new("session_users");

/// The key of each user's session by its handle.
pub(super) const HANDLES: TableDefinition<'_, &[u8; 16], &[u8; 32]> =
    TableDefinition::new("session_handles");

/// The new keys of sessions whose old key is still valid.
pub(super) const SUCCESSORS: TableDefinition<'_, &[u8; 32], &[u8]> =
    TableDefinition::new("session_successors");

/// The most rotations with overlapping graces that a lookup follows from a replaced key.
const MAX_SUCCESSIONS: usize = 8;

/// The session under this key, unless it is past a deadline.
///
/// No epoch is compared: a user's epoch increases in the transaction that removes the sessions of
/// the old epoch.
pub(super) fn living(
    sessions: &impl ReadableTable<&'static [u8; 32], &'static [u8]>,
    key: &SessionKey,
    now: Timestamp,
) -> Result<Option<Record>, redb::Error> {
    let record = sessions.get(&key.0)?.and_then(|row| Record::decode(row.value()));
    Ok(record.filter(|record| !record.is_expired(now)))
}

/// As [`living`], without the values of the session.
pub(super) fn living_head(
    sessions: &impl ReadableTable<&'static [u8; 32], &'static [u8]>,
    key: &SessionKey,
    now: Timestamp,
) -> Result<Option<Record>, redb::Error> {
    Ok(stored_head(sessions, key)?.filter(|record| !record.is_expired(now)))
}

/// The session under this key without its values, dead or alive; `None` if its row cannot be read.
pub(super) fn stored_head(
    sessions: &impl ReadableTable<&'static [u8; 32], &'static [u8]>,
    key: &SessionKey,
) -> Result<Option<Record>, redb::Error> {
    Ok(sessions.get(&key.0)?.and_then(|row| decode_head(row.value())))
}

/// The key of the session of a user with this handle, dead or alive, and its record without values.
pub(super) fn by_handle(
    sessions: &impl ReadableTable<&'static [u8; 32], &'static [u8]>,
    handles: &impl ReadableTable<&'static [u8; 16], &'static [u8; 32]>,
    user: &str,
    handle: Handle,
) -> Result<Option<(SessionKey, Record)>, redb::Error> {
    let Some(key) = handles.get(&handle.0)?.map(|key| SessionKey(*key.value())) else {
        return Ok(None);
    };
    let record = stored_head(sessions, &key)?.filter(|record| record.user() == Some(user));
    Ok(record.map(|record| (key, record)))
}

/// The present key of a session whose key was replaced. Without a time, no grace has ended.
pub(super) fn successor(
    sessions: &impl ReadableTable<&'static [u8; 32], &'static [u8]>,
    successors: &impl ReadableTable<&'static [u8; 32], &'static [u8]>,
    key: &SessionKey,
    now: Option<Timestamp>,
) -> Result<Option<SessionKey>, redb::Error> {
    let mut key = *key;
    for _ in 0..MAX_SUCCESSIONS {
        let row = successors.get(&key.0)?.and_then(|row| Successor::decode(row.value()));
        match row {
            Some(successor) if now.is_none_or(|now| now < successor.grace) => key = successor.key,
            _ => return Ok(None),
        }
        if sessions.get(&key.0)?.is_some() {
            return Ok(Some(key));
        }
    }
    Ok(None)
}
