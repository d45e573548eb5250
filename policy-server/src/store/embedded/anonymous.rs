//! Anonymous sessions in order of creation, with the size of their values, to limit both.

use policy_core::{session::SessionKey, time::Timestamp};
use redb::{ReadableTable, ReadableTableMetadata, Table, TableDefinition, WriteTransaction};

use crate::store::AnonymousLimit;

/// The size of the values of each anonymous session, by creation and key.
const ANONYMOUS: TableDefinition<'_, &[u8; 40], u64> = TableDefinition::new("session_anonymous");

/// The sum of these sizes, under 0.
const BYTES: TableDefinition<'_, u64, u64> = TableDefinition::new("session_anonymous_bytes");

pub(super) struct Anonymous<'t> {
    oldest_first: Table<'t, &'static [u8; 40], u64>,
    bytes: Table<'t, u64, u64>,
    limit: AnonymousLimit,
}

impl<'t> Anonymous<'t> {
    pub(super) fn open(
        transaction: &'t WriteTransaction,
        limit: AnonymousLimit,
    ) -> Result<Self, redb::Error> {
        Ok(Self {
            oldest_first: transaction.open_table(ANONYMOUS)?,
            bytes: transaction.open_table(BYTES)?,
            limit,
        })
    }

    /// Adds a session, or changes the size of its values.
    pub(super) fn put(
        &mut self,
        key: &SessionKey,
        created: Timestamp,
        size: u64,
    ) -> Result<(), redb::Error> {
        let place = place(key, created);
        let before = self.oldest_first.get(&place)?.map(|size| size.value());
        if before == Some(size) {
            return Ok(());
        }
        self.oldest_first.insert(&place, size)?;
        self.count(before.unwrap_or(0), size)
    }

    /// Removes a session, if it is one of these.
    pub(super) fn remove(
        &mut self,
        key: &SessionKey,
        created: Timestamp,
    ) -> Result<(), redb::Error> {
        let size = self.oldest_first.remove(&place(key, created))?.map(|size| size.value());
        self.count(size.unwrap_or(0), 0)
    }

    /// Takes out the oldest session except `own`, if there are too many or they are too large.
    pub(super) fn take_overflow(
        &mut self,
        own: &SessionKey,
    ) -> Result<Option<SessionKey>, redb::Error> {
        let AnonymousLimit { sessions, bytes } = self.limit;
        if self.oldest_first.len()? <= sessions && self.total()? <= bytes {
            return Ok(None);
        }
        let mut oldest = None;
        for entry in self.oldest_first.iter()?.take(2) {
            let (place, _) = entry?;
            let place = *place.value();
            if let Some((time, key)) = place.split_first_chunk()
                && let Ok(key) = key.try_into().map(SessionKey)
                && key != *own
            {
                oldest = Some((key, Timestamp::from_millis(u64::from_be_bytes(*time))));
                break;
            }
        }
        let Some((key, created)) = oldest else { return Ok(None) };
        self.remove(&key, created)?;
        Ok(Some(key))
    }

    fn total(&self) -> Result<u64, redb::Error> {
        Ok(self.bytes.get(0)?.map_or(0, |bytes| bytes.value()))
    }

    fn count(&mut self, removed: u64, added: u64) -> Result<(), redb::Error> {
        if removed != added {
            let total = self.total()?.saturating_sub(removed).saturating_add(added);
            self.bytes.insert(0, total)?;
        }
        Ok(())
    }
}

/// Sorts by creation.
fn place(key: &SessionKey, created: Timestamp) -> [u8; 40] {
    let mut place = [0; 40];
    let (time, rest) = place.split_at_mut(8);
    time.copy_from_slice(&created.millis().to_be_bytes());
    rest.copy_from_slice(&key.0);
    place
}
