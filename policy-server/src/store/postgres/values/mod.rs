//! The calls of named values.

use super::{PostgresStore, rows::number};
use crate::store::{NewsReader, StoreFuture, StoredValue, ValueStore};

const VALUE: &str = "SELECT version, value FROM policy.shared_values WHERE name = $1";
const SET_VALUE: &str = "SELECT policy.set_value($1, $2, $3)";

impl ValueStore for PostgresStore {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::new(self.open_once())
    }

    fn value<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<StoredValue>> {
        StoreFuture::new(async move {
            let rows = self.rows(VALUE, &[&name]).await?;
            let stored = rows.first().map(|row| {
                Ok(StoredValue::new(row.number("version")?, row.get::<&[u8]>("value")?.into()))
            });
            stored.transpose()
        })
    }

    fn set_value<'a>(
        &'a self,
        name: &'a str,
        expected: u64,
        value: Box<[u8]>,
    ) -> StoreFuture<'a, bool> {
        StoreFuture::new(async move {
            self.row(SET_VALUE, &[&name, &number(expected), &&value[..]]).await?.get("set_value")
        })
    }

    fn news(&self) -> Option<NewsReader> {
        Some(self.0.news.reader())
    }
}
