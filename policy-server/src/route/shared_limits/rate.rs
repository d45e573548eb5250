//! One rate that all instances share.

use std::sync::Arc;

use policy_core::limits::{Rate, RateCapacity, RateGrant, RateRefusal};

use super::{
    LimitBook,
    client_table::{ClientTable, LocalDecision},
    key_of,
};
use crate::store::{StoreError, TakeRate, TakenRate};

/// A rate whose accounts are in the store.
#[derive(Debug)]
pub(crate) struct SharedRate {
    book: Arc<LimitBook>,
    location: Box<str>,
    rate: Rate,
    held: ClientTable,
}

impl SharedRate {
    /// The rate that is stated at this location of the app: the same for all instances.
    pub(crate) fn new(
        book: &Arc<LimitBook>,
        location: &str,
        rate: Rate,
        capacity: RateCapacity,
    ) -> Self {
        let held = ClientTable::new(&rate, capacity.clients);
        Self { book: Arc::clone(book), location: location.into(), rate, held }
    }

    /// Decides about a request. `admit` is called once in a period, `alone` if the store fails, and
    /// `count` for a granted request.
    pub(crate) async fn take(
        &self,
        client: &[u8],
        admit: impl FnOnce() -> Result<(), RateRefusal>,
        count: impl FnOnce(),
        alone: impl FnOnce() -> Result<RateGrant, RateRefusal>,
    ) -> Result<RateGrant, RateRefusal> {
        let start = self.book.clock.monotonic();
        let decided = match self.held.take(client, start, admit) {
            LocalDecision::Decided(decided) => decided,
            LocalDecision::Ask { wanted } => match self.ask(client, wanted).await {
                Ok(taken) => self.held.learn(client, wanted, start, taken),
                Err(_is_logged) => return alone(),
            },
        };
        if decided.is_ok() {
            count();
        }
        decided
    }

    async fn ask(&self, client: &[u8], wanted: u32) -> Result<TakenRate, StoreError> {
        let Rate { count, per, .. } = self.rate;
        let (count, per) = (count.to_le_bytes(), per.as_nanos().to_le_bytes());
        let key = key_of(&[b"rate", self.location.as_bytes(), &count, &per, client]);
        self.book.store()?.take_rate(TakeRate::new(key, self.rate, wanted)).await
    }
}
