//! The calls of named values.

use super::{
    RedisStore,
    connection::Call,
    reply::{Items, as_bool, number},
};
use crate::store::{NewsReader, StoreFuture, StoredValue, ValueStore};

impl ValueStore for RedisStore {
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::new(self.open_once())
    }

    fn value<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<StoredValue>> {
        let call = Call::values("value").arg(name);
        StoreFuture::new(async move {
            let Some(mut reply) = Items::new_or_nil(self.call(call).await?)? else {
                return Ok(None);
            };
            Ok(Some(StoredValue::new(reply.number()?, reply.bytes()?)))
        })
    }

    fn set_value<'a>(
        &'a self,
        name: &'a str,
        expected: u64,
        value: Box<[u8]>,
    ) -> StoreFuture<'a, bool> {
        let call =
            Call::values("set_value").confirmed().arg(name).arg(number(expected)).arg(&value[..]);
        StoreFuture::new(async move { as_bool(&self.call(call).await?) })
    }

    fn news(&self) -> Option<NewsReader> {
        Some(self.0.news.reader())
    }
}
