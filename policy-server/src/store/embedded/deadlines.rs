//! An index by deadline, from whose front a purge reads.

use std::time::Duration;

use policy_core::time::Timestamp;
use redb::{ReadableTable, Table};

use super::writer::Effect;

/// An index of rows by when they may have expired.
///
/// An entry is only a hint. Changing a deadline or removing a row leaves the entry in place; when
/// it is due, the purge checks the row and adds a new entry if it is still live.
pub(super) struct Deadlines<'t>(Table<'t, &'static [u8], ()>);

/// An entry that is due.
pub(super) struct Entry {
    pub(super) kind: u8,
    pub(super) id: Vec<u8>,
    filed: Timestamp,
}

/// The result of one step of a purge.
pub(super) struct PurgeStep {
    pub(super) removed: usize,
    /// Whether nothing is left to do, or the limit is reached.
    pub(super) is_done: bool,
}

/// The result of examining the row of an entry.
pub(super) enum Fate {
    Removed,
    /// There was no row to remove.
    Gone,
    /// The row is live, and has to be examined again at this time.
    Lives(Timestamp),
}

/// Tables whose expired rows are found by their deadlines.
pub(super) trait Purge<'t> {
    fn deadlines(&mut self) -> (&mut Deadlines<'t>, &mut Effect);

    /// Removes the row of an entry if it has expired.
    fn purge_entry(&mut self, entry: &Entry, now: Timestamp) -> Result<Fate, redb::Error>;

    /// Examines up to `step` due entries, and removes up to `limit` expired rows.
    fn purge(
        &mut self,
        now: Timestamp,
        limit: usize,
        step: usize,
    ) -> Result<PurgeStep, redb::Error> {
        let (due, mut is_done) = self.deadlines().0.due(now, step)?;
        let mut removed = 0;
        for entry in due {
            if removed == limit {
                return Ok(PurgeStep { removed, is_done: true });
            }
            let fate = self.purge_entry(&entry, now)?;
            // Some of its rows are left.
            is_done &= !matches!(fate, Fate::Lives(next) if next <= now);
            let (deadlines, effect) = self.deadlines();
            deadlines.settle(&entry, &fate)?;
            // Durable at once, so that the sync counts in this step, and not in the next login.
            *effect = Effect::Durable;
            removed += usize::from(matches!(fate, Fate::Removed));
        }
        Ok(PurgeStep { removed, is_done })
    }
}

impl<'t> Deadlines<'t> {
    /// When to check a row again that only a later version can read.
    pub(super) const UNREADABLE: Duration = Duration::from_secs(24 * 3600);

    pub(super) fn new(table: Table<'t, &'static [u8], ()>) -> Self {
        Self(table)
    }

    pub(super) fn add(
        &mut self,
        deadline: Timestamp,
        kind: u8,
        id: &[u8],
    ) -> Result<(), redb::Error> {
        self.0.insert(key(deadline, kind, id).as_slice(), ())?;
        Ok(())
    }

    /// Removes an entry that is not needed any more.
    pub(super) fn remove(
        &mut self,
        deadline: Timestamp,
        kind: u8,
        id: &[u8],
    ) -> Result<(), redb::Error> {
        self.0.remove(key(deadline, kind, id).as_slice())?;
        Ok(())
    }

    /// The first entries that are due, and whether these are all.
    fn due(&self, now: Timestamp, most: usize) -> Result<(Vec<Entry>, bool), redb::Error> {
        let end = now.millis().saturating_add(1).to_be_bytes();
        let mut due = vec![];
        for entry in self.0.range(..end.as_slice())?.take(most) {
            let (key, _) = entry?;
            if let Some((filed, [kind, id @ ..])) = key.value().split_first_chunk() {
                let filed = Timestamp::from_millis(u64::from_be_bytes(*filed));
                due.push(Entry { kind: *kind, id: id.to_vec(), filed });
            }
        }
        let is_all = due.len() < most;
        Ok((due, is_all))
    }

    /// Removes an entry that was examined, and adds a new one if its row is still live.
    fn settle(&mut self, entry: &Entry, fate: &Fate) -> Result<(), redb::Error> {
        self.0.remove(key(entry.filed, entry.kind, &entry.id).as_slice())?;
        match fate {
            Fate::Lives(next) => self.add(*next, entry.kind, &entry.id),
            Fate::Removed | Fate::Gone => Ok(()),
        }
    }
}

/// Sorts by time.
fn key(deadline: Timestamp, kind: u8, id: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(9 + id.len());
    key.extend_from_slice(&deadline.millis().to_be_bytes());
    key.push(kind);
    key.extend_from_slice(id);
    key
}
