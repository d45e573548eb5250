//! Loads of sessions at the same time, in one round trip.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use policy_core::{
    session::{Record, SessionKey},
    time::Timestamp,
};
use tokio::{select, sync::oneshot};

use super::{Loaded, StoreError};
use crate::base::timers;

/// So many round trips are under way at most. A load that comes while they are waits for the first that
/// is done, and goes with the others that wait: the more there are, the less each of them costs.
const UNDER_WAY: usize = 2;

/// So many sessions are loaded by one at most, so that nobody waits for very many others.
const MOST: usize = 64;

/// What is stored under a key.
pub(super) enum Stored {
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
pub(super) async fn follow<F>(
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
pub(super) trait LoadMany: Send + Sync + 'static {
    /// What is found under a key, or why nothing is known of it.
    type Found: Send;

    /// As many as there are keys, in their order.
    fn load_many(&self, keys: &[SessionKey]) -> impl Future<Output = Vec<Self::Found>> + Send;
}

/// The loads of one store, which go together while there are many.
pub(super) struct Loads<L: LoadMany>(Arc<Shared<L>>);

struct Shared<L: LoadMany> {
    loader: L,
    queue: Mutex<Queue<L::Found>>,
}

struct Queue<F> {
    waiting: Vec<Waiting<F>>,
    under_way: usize,
}

struct Waiting<F> {
    key: SessionKey,
    caller: oneshot::Sender<F>,
}

impl<L: LoadMany> Loads<L> {
    pub(super) fn new(loader: L) -> Self {
        let queue = Mutex::new(Queue { waiting: Vec::new(), under_way: 0 });
        Self(Arc::new(Shared { loader, queue }))
    }

    /// What is under this key after the call began: no round trip that is under way is joined. `None` if
    /// it takes longer than this.
    pub(super) async fn load(&self, key: &SessionKey, deadline: Duration) -> Option<L::Found> {
        let (caller, found) = oneshot::channel();
        let turn = {
            let mut queue = self.0.lock();
            queue.waiting.push(Waiting { key: *key, caller });
            queue.begins_turn().then(|| Turn { of: Arc::clone(&self.0), is_over: false })
        };
        if let Some(turn) = turn {
            // Not by this caller, who may be gone before the others have what they wait for.
            tokio::spawn(turn.run());
        }
        select! {
            // The runtime of another caller may have ended, and its round trip with it.
            found = found => found.ok(),
            () = timers::sleep(deadline) => None,
        }
    }
}

impl<L: LoadMany> Shared<L> {
    fn lock(&self) -> MutexGuard<'_, Queue<L::Found>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F> Queue<F> {
    fn begins_turn(&mut self) -> bool {
        let begins = self.under_way < UNDER_WAY;
        self.under_way += usize::from(begins);
        begins
    }

    /// Those of the next round trip. If nobody waits, the turn is over.
    fn next(&mut self) -> Option<Vec<Waiting<F>>> {
        if self.waiting.is_empty() {
            self.under_way -= 1;
            return None;
        }
        let rest = self.waiting.split_off(self.waiting.len().min(MOST));
        Some(mem::replace(&mut self.waiting, rest))
    }
}

/// One round trip after the other, until nobody waits.
struct Turn<L: LoadMany> {
    of: Arc<Shared<L>>,
    is_over: bool,
}

impl<L: LoadMany> Turn<L> {
    async fn run(mut self) {
        loop {
            let next = self.of.lock().next();
            let Some(waiting) = next else { break };
            let keys: Vec<SessionKey> = waiting.iter().map(|waiting| waiting.key).collect();
            let found = self.of.loader.load_many(&keys).await;
            for (Waiting { caller, .. }, found) in waiting.into_iter().zip(found) {
                // It may not wait any more.
                _ = caller.send(found);
            }
        }
        self.is_over = true;
    }
}

/// A turn whose runtime ends is over too.
impl<L: LoadMany> Drop for Turn<L> {
    fn drop(&mut self) {
        if !self.is_over {
            self.of.lock().under_way -= 1;
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

    fn counting() -> (Arc<Counting>, Arc<Loads<Arc<Counting>>>) {
        let loader = Counting { trips: watch::Sender::new(0), may_end: Semaphore::new(0) };
        let loader = Arc::new(loader);
        (Arc::clone(&loader), Arc::new(Loads::new(loader)))
    }

    async fn load(loads: Arc<Loads<Arc<Counting>>>, key: u8) -> Option<(u8, u64)> {
        loads.load(&SessionKey([key; 32]), Duration::MAX).await
    }

    /// Each gets what is under its key, also of two that ask for the same one.
    #[tokio::test]
    async fn loads_that_wait_go_together() {
        let (loader, loads) = counting();
        let keys = || (0..200_u8).map(|number| number / 2);
        let mut all = Vec::new();
        for (number, key) in keys().enumerate() {
            all.push(tokio::spawn(load(Arc::clone(&loads), key)));
            loader.until((number as u64 + 1).min(2)).await;
        }
        // Each task that was spawned needs one turn.
        for _ in 0..1000 {
            if loads.0.lock().waiting.len() == 198 {
                break;
            }
            yield_now().await;
        }
        assert_eq!(loads.0.lock().waiting.len(), 198, "loads that wait");
        assert_eq!(*loader.trips.borrow(), 2, "two are under way");
        loader.may_end.add_permits(1000);
        let found: Vec<_> =
            join_all(all).await.into_iter().map(|found| found.unwrap().unwrap()).collect();
        assert!(found.iter().map(|(key, _)| *key).eq(keys()));
        let trips = 2 + 198_u64.div_ceil(MOST as u64);
        assert_eq!(*loader.trips.borrow(), trips);
        assert_eq!(loads.0.lock().under_way, 0);
        assert_eq!(load(loads, 7).await, Some((7, trips + 1)), "and the next goes at once");
    }

    /// What it reads may be older than the load.
    #[tokio::test]
    async fn no_load_joins_a_round_trip_that_is_under_way() {
        let (loader, loads) = counting();
        let first = tokio::spawn(load(Arc::clone(&loads), 1));
        loader.until(1).await;
        let second = tokio::spawn(load(Arc::clone(&loads), 1));
        loader.may_end.add_permits(2);
        assert_eq!(first.await.unwrap(), Some((1, 1)));
        assert_eq!(second.await.unwrap(), Some((1, 2)));
    }

    /// A client that goes away takes nobody along.
    #[tokio::test]
    async fn who_gives_up_stops_nobody_else() {
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
        for key in 0..UNDER_WAY as u8 {
            ends.spawn(load(Arc::clone(&loads), key));
        }
        ends.block_on(loader.until(UNDER_WAY as u64));
        drop(ends);
        loader.may_end.add_permits(1000);
        let (_, trip) = runtime().block_on(load(loads, 9)).expect("a session");
        assert_eq!(trip, UNDER_WAY as u64 + 1);
    }
}
