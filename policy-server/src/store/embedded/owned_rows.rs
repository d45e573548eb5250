//! Rows of users, with the index that finds them by user.

use redb::{
    MultimapTable, MultimapTableDefinition, ReadableMultimapTable, Table, TableDefinition,
    WriteTransaction,
};

/// A table whose rows may belong to users, and the keys of each user's rows.
pub(super) struct OwnedRows<'t, const N: usize> {
    pub(super) rows: Table<'t, &'static [u8; N], &'static [u8]>,
    owners: MultimapTable<'t, &'static str, &'static [u8; N]>,
}

impl<'t, const N: usize> OwnedRows<'t, N> {
    pub(super) fn open(
        transaction: &'t WriteTransaction,
        rows: TableDefinition<'_, &'static [u8; N], &'static [u8]>,
        owners: MultimapTableDefinition<'_, &'static str, &'static [u8; N]>,
    ) -> Result<Self, redb::Error> {
        Ok(Self {
            rows: transaction.open_table(rows)?,
            owners: transaction.open_multimap_table(owners)?,
        })
    }

    pub(super) fn insert(
        &mut self,
        key: &[u8; N],
        row: &[u8],
        owner: Option<&str>,
    ) -> Result<(), redb::Error> {
        self.replace(key, row)?;
        if let Some(owner) = owner {
            self.owners.insert(owner, key)?;
        }
        Ok(())
    }

    /// Replaces a row, which belongs to the same user as before.
    pub(super) fn replace(&mut self, key: &[u8; N], row: &[u8]) -> Result<(), redb::Error> {
        self.rows.insert(key, row)?;
        Ok(())
    }

    /// Removes a row of this user. Returns whether there was one.
    pub(super) fn remove(
        &mut self,
        key: &[u8; N],
        owner: Option<&str>,
    ) -> Result<bool, redb::Error> {
        if let Some(owner) = owner {
            self.owners.remove(owner, key)?;
        }
        Ok(self.rows.remove(key)?.is_some())
    }

    pub(super) fn keys_of(&self, owner: &str) -> Result<Vec<[u8; N]>, redb::Error> {
        keys_of(&self.owners, owner)
    }

    pub(super) fn count_of(&self, owner: &str) -> Result<u64, redb::Error> {
        Ok(self.owners.get(owner)?.len())
    }
}

/// The keys of a user's rows.
pub(super) fn keys_of<const N: usize>(
    owners: &impl ReadableMultimapTable<&'static str, &'static [u8; N]>,
    owner: &str,
) -> Result<Vec<[u8; N]>, redb::Error> {
    let keys = owners.get(owner)?.map(|key| key.map(|key| *key.value()));
    Ok(keys.collect::<Result<_, _>>()?)
}
