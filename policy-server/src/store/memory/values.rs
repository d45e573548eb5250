//! Named values.

use super::MemoryStore;
use crate::{
    base::locks::lock,
    store::{News, NewsReader, StoreFuture, StoredValue, ValueStore},
};

impl ValueStore for MemoryStore {
    fn value<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<StoredValue>> {
        StoreFuture::ready(Ok(lock(&self.0.values).get(name).cloned()))
    }

    fn set_value<'a>(
        &'a self,
        name: &'a str,
        expected: u64,
        value: Box<[u8]>,
    ) -> StoreFuture<'a, bool> {
        let is_stored = {
            let mut values = lock(&self.0.values);
            let version = values.get(name).map_or(0, |stored| stored.version);
            if version == expected {
                values.insert(name.into(), StoredValue::new(expected + 1, value));
            }
            version == expected
        };
        if is_stored {
            self.0.news.tell(News::Value(name.into()));
        }
        StoreFuture::ready(Ok(is_stored))
    }

    fn news(&self) -> Option<NewsReader> {
        Some(self.0.news.reader())
    }
}
