//! The calls of named values.

use super::{
    RedisStore,
    connection::Call,
    reply::{Items, as_bool, number},
};
use crate::store::{Answer, NewsReader, StoredValue, ValueStore};

impl ValueStore for RedisStore {
    fn open(&self) -> Answer<'_, ()> {
        Answer::later(self.open_once())
    }

    fn value<'a>(&'a self, name: &'a str) -> Answer<'a, Option<StoredValue>> {
        let call = Call::of_values("value").arg(name);
        Answer::later(async move {
            let Some(mut reply) = Items::of_optional(self.call(call).await?)? else {
                return Ok(None);
            };
            Ok(Some(StoredValue::new(reply.number()?, reply.bytes()?)))
        })
    }

    fn set_value<'a>(&'a self, name: &'a str, expected: u64, value: Box<[u8]>) -> Answer<'a, bool> {
        let call = Call::of_values("set_value")
            .confirmed()
            .arg(name)
            .arg(number(expected))
            .arg(&value[..]);
        Answer::later(async move { as_bool(&self.call(call).await?) })
    }

    fn news(&self) -> Option<NewsReader> {
        Some(self.reader())
    }
}
