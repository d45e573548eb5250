//! Named values.

use redb::{ReadableTable, TableDefinition, TableError};

use super::{
    EmbeddedStore,
    writer::{Effect, Tables},
};
use crate::store::{StoreFuture, StoredValue, ValueStore};

/// The version of a value as eight bytes, and the value.
const VALUES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("values");

impl ValueStore for EmbeddedStore {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::ready(self.open_file())
    }

    fn value<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<StoredValue>> {
        StoreFuture::ready(self.read(|transaction, _ended| {
            let values = match transaction.open_table(VALUES) {
                // Nothing was stored yet.
                Err(TableError::TableDoesNotExist(_)) => return Ok(None),
                values => values?,
            };
            Ok(values.get(name)?.and_then(|row| decode(row.value())))
        }))
    }

    fn set_value<'a>(
        &'a self,
        name: &'a str,
        expected: u64,
        value: Box<[u8]>,
    ) -> StoreFuture<'a, bool> {
        let name: Box<str> = name.into();
        self.write(move |tables| tables.set_value(&name, expected, &value))
    }
}

impl Tables<'_> {
    fn set_value(&mut self, name: &str, expected: u64, value: &[u8]) -> Result<bool, redb::Error> {
        let mut values = self.transaction.open_table(VALUES)?;
        let version =
            values.get(name)?.and_then(|row| decode(row.value())).map_or(0, |row| row.version);
        if version != expected {
            return Ok(false);
        }
        let row = [&(expected + 1).to_be_bytes(), value].concat();
        values.insert(name, row.as_slice())?;
        self.effect = Effect::Durable;
        Ok(true)
    }
}

fn decode(row: &[u8]) -> Option<StoredValue> {
    let (version, value) = row.split_first_chunk()?;
    Some(StoredValue::new(u64::from_be_bytes(*version), value.into()))
}
