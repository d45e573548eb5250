//! The interface of stores for named values.

use std::fmt;

use super::{NewsReader, StoreFuture};

/// A store of named values, each with a version, that all instances of an app share: the lists of
/// [`StoredOrigins`](crate::StoredOrigins). Each call is atomic, and durable when it completes.
///
/// All stores of this crate implement it.
pub trait ValueStore: fmt::Debug + Send + Sync + 'static {
    /// Opens the store before the first request. A store that is open already does nothing.
    fn open(&self) -> StoreFuture<'_, ()> {
        StoreFuture::ready(Ok(()))
    }

    /// The value of this name, as it was stored last by any instance.
    fn value<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<StoredValue>>;

    /// Stores a value if the version of the present one is `expected`, 0 if there is none. Its version
    /// is the next one. Returns whether it was stored.
    fn set_value<'a>(
        &'a self,
        name: &'a str,
        expected: u64,
        value: Box<[u8]>,
    ) -> StoreFuture<'a, bool>;

    /// The values that are stored from now on, as [`News::Value`](super::News::Value). `None` for a
    /// store without news: it is polled once a second in any case.
    fn news(&self) -> Option<NewsReader> {
        None
    }
}

/// A stored value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredValue {
    /// Counts how often the value was stored.
    pub version: u64,
    /// The value.
    pub value: Box<[u8]>,
}

impl StoredValue {
    /// A value with its version, 1 for the first.
    pub fn new(version: u64, value: Box<[u8]>) -> Self {
        Self { version, value }
    }
}
