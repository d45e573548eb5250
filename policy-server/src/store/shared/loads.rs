//! Batches concurrent loads of sessions into shared round trips.

use std::{
    mem,
    sync::{Arc, Mutex},
    time::Duration,
};

use policy_core::{
    session::{Record, SessionKey},
    time::Timestamp,
};
use tokio::{select, sync::oneshot};

use crate::{
    base::{locks::lock, timers},
    store::{Loaded, StoreError},
};

/// At most this many round trips run at once. Further loads wait, and share the next round trip.
const MAX_ROUND_TRIPS: usize = 2;

/// Maximum keys of a round trip, which bounds how long each of its loads takes.
const MAX_KEYS: usize = 64;

/// What is stored under a key.
pub(in crate::store) enum Stored {
    /// A session that no cut-off of everyone has ended.
    Session(Record),
    /// A rotation replaced the key. Until this time it leads to another one.
    Moved {
        to: SessionKey,
        until: Timestamp,
    },
    Nothing,
}

/// Follows replaced keys to a live session.
pub(in crate::store) async fn follow<F>(
    key: &SessionKey,
    now: Timestamp,
    load: impl Fn(SessionKey) -> F,
) -> Result<Option<Loaded>, StoreError>
where
    F: Future<Output = Result<Stored, StoreError>>,
{
    let mut current = *key;
    // This terminates: a rotation moves to a key that did not exist, so there is no cycle.
    loop {
        match load(current).await? {
            Stored::Session(record) if !record.is_expired(now) => {
                let successor = (current != *key).then_some(current);
                return Ok(Some(Loaded::new(record).successor(successor)));
            }
            Stored::Moved { to, until } if until > now => current = to,
            _ => return Ok(None),
        }
    }
}

/// Loads several sessions in one round trip.
pub(in crate::store) trait LoadMany: Send + Sync + 'static {
    /// The result for one key.
    type Found: Send;

    /// Returns one result for each key, in the order of the keys.
    fn load_many(&self, keys: &[SessionKey]) -> impl Future<Output = Vec<Self::Found>> + Send;
}

/// Loads the sessions of one store.
pub(in crate::store) struct BatchLoader<L: LoadMany>(Arc<Shared<L>>);

struct Shared<L: LoadMany> {
    loader: L,
    queue: Mutex<Queue<L::Found>>,
}

struct Queue<F> {
    waiting: Vec<Waiting<F>>,
    workers: usize,
}

struct Waiting<F> {
    key: SessionKey,
    caller: oneshot::Sender<F>,
}

impl<L: LoadMany> BatchLoader<L> {
    pub(in crate::store) fn new(loader: L) -> Self {
        let queue = Mutex::new(Queue { waiting: Vec::new(), workers: 0 });
        Self(Arc::new(Shared { loader, queue }))
    }

    /// Loads the row as of now or later: never joins a round trip that has already begun. `None` on
    /// timeout.
    pub(in crate::store) async fn load(
        &self,
        key: &SessionKey,
        deadline: Duration,
    ) -> Option<L::Found> {
        let (caller, found) = oneshot::channel();
        let worker = {
            let mut queue = lock(&self.0.queue);
            queue.waiting.push(Waiting { key: *key, caller });
            queue.add_worker().then(|| Worker { shared: Arc::clone(&self.0), is_done: false })
        };
        if let Some(worker) = worker {
            // In a task of its own: this caller may be dropped before the round trip has ended.
            tokio::spawn(worker.run());
        }
        select! {
            // The sender is dropped if the runtime of the worker shuts down.
            found = found => found.ok(),
            () = timers::sleep(deadline) => None,
        }
    }
}

impl<F> Queue<F> {
    /// Whether there is room for one more worker, which is then counted.
    fn add_worker(&mut self) -> bool {
        let has_room = self.workers < MAX_ROUND_TRIPS;
        self.workers += usize::from(has_room);
        has_room
    }

    /// Takes the loads of the next round trip. If there are none, the worker is done.
    fn next_batch(&mut self) -> Option<Vec<Waiting<F>>> {
        if self.waiting.is_empty() {
            self.workers -= 1;
            return None;
        }
        let rest = self.waiting.split_off(self.waiting.len().min(MAX_KEYS));
        Some(mem::replace(&mut self.waiting, rest))
    }
}

/// Makes one round trip after another until no load waits.
struct Worker<L: LoadMany> {
    shared: Arc<Shared<L>>,
    is_done: bool,
}

impl<L: LoadMany> Worker<L> {
    async fn run(mut self) {
        loop {
            let batch = lock(&self.shared.queue).next_batch();
            let Some(waiting) = batch else { break };
            let keys: Vec<SessionKey> = waiting.iter().map(|waiting| waiting.key).collect();
            let found = self.shared.loader.load_many(&keys).await;
            for (Waiting { caller, .. }, found) in waiting.into_iter().zip(found) {
                // The receiver may have been dropped.
                _ = caller.send(found);
            }
        }
        self.is_done = true;
    }
}

/// A worker whose runtime shuts down is no longer counted.
impl<L: LoadMany> Drop for Worker<L> {
    fn drop(&mut self) {
        if !self.is_done {
            lock(&self.shared.queue).workers -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use tokio::{
        sync::{Semaphore, watch},
        task::yield_now,
        time::timeout,
    };

    use super::*;

    /// Finds the first byte of a key and the number of the round trip.
    struct Counting {
        trips: watch::Sender<u64>,
        may_end: Semaphore,
    }

    impl LoadMany for Arc<Counting> {
        type Found = (u8, u64);

        async fn load_many(&self, keys: &[SessionKey]) -> Vec<(u8, u64)> {
            let mut trip = 0;
            self.trips.send_modify(|trips| {
                *trips += 1;
                trip = *trips;
            });
            self.may_end.acquire().await.expect("it is open").forget();
            keys.iter().map(|key| (key.0[0], trip)).collect()
        }
    }

    const PATIENCE: Duration = Duration::from_secs(60);

    impl Counting {
        /// Waits until there were this many round trips.
        async fn until(&self, trips: u64) {
            let mut begun = self.trips.subscribe();
            let begun = timeout(PATIENCE, begun.wait_for(|begun| *begun >= trips)).await;
            begun.unwrap_or_else(|_| panic!("{trips} round trips did not begin")).unwrap();
        }
    }

    fn counting() -> (Arc<Counting>, Arc<BatchLoader<Arc<Counting>>>) {
        let loader = Counting { trips: watch::Sender::new(0), may_end: Semaphore::new(0) };
        let loader = Arc::new(loader);
        (Arc::clone(&loader), Arc::new(BatchLoader::new(loader)))
    }

    async fn load(loads: Arc<BatchLoader<Arc<Counting>>>, key: u8) -> Option<(u8, u64)> {
        loads.load(&SessionKey([key; 32]), Duration::MAX).await
    }

    /// Each load gets the row of its key, also if two load the same key.
    #[tokio::test]
    async fn loads_that_wait_go_together() {
        let (loader, loads) = counting();
        let keys = || (0..200_u8).map(|number| number / 2);
        let mut all = Vec::new();
        for (number, key) in keys().enumerate() {
            all.push(tokio::spawn(load(Arc::clone(&loads), key)));
            loader.until((number as u64 + 1).min(2)).await;
        }
        // Each spawned task has to be polled once.
        for _ in 0..1000 {
            if lock(&loads.0.queue).waiting.len() == 198 {
                break;
            }
            yield_now().await;
        }
        assert_eq!(lock(&loads.0.queue).waiting.len(), 198, "loads that wait");
        assert_eq!(*loader.trips.borrow(), 2, "two run at once");
        loader.may_end.add_permits(1000);
        let found: Vec<_> =
            join_all(all).await.into_iter().map(|found| found.unwrap().unwrap()).collect();
        assert!(found.iter().map(|(key, _)| *key).eq(keys()));
        let trips = 2 + 198_u64.div_ceil(MAX_KEYS as u64);
        assert_eq!(*loader.trips.borrow(), trips);
        assert_eq!(lock(&loads.0.queue).workers, 0);
        assert_eq!(load(loads, 7).await, Some((7, trips + 1)), "and the next goes at once");
    }

    /// What it reads may be older than the load.
    #[tokio::test]
    async fn no_load_joins_a_round_trip_that_has_begun() {
        let (loader, loads) = counting();
        let first = tokio::spawn(load(Arc::clone(&loads), 1));
        loader.until(1).await;
        let second = tokio::spawn(load(Arc::clone(&loads), 1));
        loader.may_end.add_permits(2);
        assert_eq!(first.await.unwrap(), Some((1, 1)));
        assert_eq!(second.await.unwrap(), Some((1, 2)));
    }

    /// A load that is dropped does not end the round trip of the others.
    #[tokio::test]
    async fn a_dropped_load_leaves_the_others() {
        let (loader, loads) = counting();
        let first = tokio::spawn(load(Arc::clone(&loads), 1));
        loader.until(1).await;
        first.abort();
        let others = (2..5).map(|key| load(Arc::clone(&loads), key));
        loader.may_end.add_permits(1000);
        let others = join_all(others).await;
        assert!(others.iter().flatten().map(|(key, _)| *key).eq(2..5), "{others:?}");
    }

    /// Each thread may have a runtime of its own.
    #[test]
    fn the_end_of_a_runtime_stops_no_other() {
        let (loader, loads) = counting();
        let runtime =
            || tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let ends = runtime();
        for key in 0..MAX_ROUND_TRIPS as u8 {
            ends.spawn(load(Arc::clone(&loads), key));
        }
        ends.block_on(loader.until(MAX_ROUND_TRIPS as u64));
        drop(ends);
        loader.may_end.add_permits(1000);
        let (_, trip) = runtime().block_on(load(loads, 9)).expect("a session");
        assert_eq!(trip, MAX_ROUND_TRIPS as u64 + 1);
    }
}
