//! The permits of one limit, of all instances together.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::Mutex;

use super::{LIFETIME, LimitBook, RENEWAL, key_of};
use crate::store::{LeasePermits, LimitKey, StoreError};

/// How long each instance counts separately after a call of the store failed.
const ALONE: Duration = Duration::from_secs(1);

/// The requests in flight at this instance, and the permits that it holds.
pub(crate) struct SharedPermits {
    book: Arc<LimitBook>,
    key: LimitKey,
    most: u32,
    /// Both [`Counts`] in one word, so that no request enters while permits are returned.
    counts: AtomicU64,
    /// When the lease ends, in nanoseconds of the clock.
    ends: AtomicU64,
    /// The maximum number in flight since permits were last returned.
    peak: AtomicU32,
    /// The requests that wait for a permit.
    waiting: AtomicU32,
    /// Locked by the request that calls the store.
    asking: Mutex<StoreCalls>,
}

#[derive(Debug, Default)]
struct StoreCalls {
    /// When the last call of the store began.
    begun: Duration,
    /// Until then the store is not called.
    alone_until: Duration,
}

#[derive(Clone, Copy)]
struct Counts {
    in_flight: u32,
    held: u32,
}

impl Counts {
    fn from_word(word: u64) -> Self {
        Self { in_flight: word as u32, held: (word >> 32) as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.held) << 32 | u64::from(self.in_flight)
    }
}

impl SharedPermits {
    /// The permits of the limit that is stated at this location of the app.
    pub(crate) fn new(book: &Arc<LimitBook>, location: &str, most: u32) -> Arc<Self> {
        let this = Arc::new(Self {
            book: Arc::clone(book),
            key: key_of(&[b"permits", location.as_bytes()]),
            most,
            counts: AtomicU64::new(0),
            ends: AtomicU64::new(0),
            peak: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            asking: Mutex::default(),
        });
        book.add(&this);
        this
    }

    /// Takes a permit that this instance holds.
    pub(crate) fn enter(&self) -> bool {
        nanos(self.book.clock.monotonic()) < self.ends.load(Ordering::Acquire)
            && self.enter_if(|counts| counts.in_flight < counts.held)
    }

    fn enter_if(&self, has_room: impl Fn(Counts) -> bool) -> bool {
        let entered = self.update(|counts| {
            has_room(counts).then_some(Counts { in_flight: counts.in_flight + 1, ..counts })
        });
        if let Some(before) = entered {
            self.peak.fetch_max(before.in_flight + 1, Ordering::Relaxed);
        }
        entered.is_some()
    }

    /// Takes a permit, and asks the store for more if this instance holds no free one.
    pub(crate) async fn wait(&self) -> bool {
        let _waits = Waiting::among(&self.waiting);
        let begun = self.book.clock.monotonic();
        let mut call = self.asking.lock().await;
        if self.enter() {
            return true;
        }
        if call.alone_until <= begun {
            if call.begun > begun {
                // That call included a permit for this request.
                return false;
            }
            call.begun = self.book.clock.monotonic();
            let counts = Counts::from_word(self.counts.load(Ordering::SeqCst));
            let wish = counts.in_flight.saturating_add(self.waiting.load(Ordering::SeqCst));
            match self.ask(wish).await {
                Ok(()) => return self.enter(),
                Err(_is_logged) => call.alone_until = self.book.clock.monotonic() + ALONE,
            }
        }
        self.enter_if(|counts| counts.in_flight < self.most)
    }

    /// Records that a request ended.
    pub(crate) fn leave(&self) {
        let before = Counts::from_word(self.counts.fetch_sub(1, Ordering::AcqRel));
        if before.in_flight <= before.held {
            self.book.freed.notify_one();
        }
    }

    /// Returns the permits that were not used recently, and keeps the rest.
    pub(super) async fn renew(&self) {
        let _asked = self.asking.lock().await;
        let counts = Counts::from_word(self.counts.load(Ordering::Acquire));
        let used = self.peak.swap(counts.in_flight, Ordering::Relaxed).max(counts.in_flight);
        if used > counts.in_flight {
            // Permits that were used until now are returned the next time.
            self.book.freed.notify_one();
        }
        let renewed = nanos(self.book.clock.monotonic() + LIFETIME - RENEWAL);
        let is_due = used > 0 && self.ends.load(Ordering::Acquire) <= renewed;
        if used < counts.held || is_due {
            // The lease expires if this fails.
            let _is_logged = self.ask(used).await;
        }
    }

    /// Sets how many permits this instance holds.
    async fn ask(&self, wish: u32) -> Result<(), StoreError> {
        // From here on, no request enters with a permit that is returned.
        let lowered =
            |counts: Counts| Counts { held: counts.held.min(wish.max(counts.in_flight)), ..counts };
        let before = self.update(|counts| Some(lowered(counts)));
        let in_flight = before.map_or(0, |before| before.in_flight);
        let wish = wish.max(in_flight).min(self.most);
        let begun = self.book.clock.monotonic();
        let instance = self.book.instance;
        let request = LeasePermits::new(self.key, self.most, instance, wish, LIFETIME);
        let held = self.book.store()?.lease_permits(request).await?;
        self.ends.store(nanos(begun + LIFETIME), Ordering::Release);
        self.update(|counts| Some(Counts { held, ..counts }));
        Ok(())
    }

    /// Changes the counts, and returns the previous ones if they were changed.
    fn update(&self, change: impl Fn(Counts) -> Option<Counts>) -> Option<Counts> {
        let change = |word| change(Counts::from_word(word)).map(Counts::word);
        let before = self.counts.fetch_update(Ordering::AcqRel, Ordering::Acquire, change);
        before.ok().map(Counts::from_word)
    }
}

impl fmt::Debug for SharedPermits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedPermits").field("most", &self.most).finish_non_exhaustive()
    }
}

/// Counts one more waiting request while it lives.
struct Waiting<'a>(&'a AtomicU32);

impl<'a> Waiting<'a> {
    fn among(waiting: &'a AtomicU32) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, future::join_all};

    use super::*;
    use crate::{base::clock::Clock, store::MemoryStore, testing::FaultyStore};

    type Store = FaultyStore<MemoryStore>;

    /// The same limit at an instance.
    async fn permits(store: &Store, instance: u8, most: u32, clock: &Clock) -> Arc<SharedPermits> {
        let book = LimitBook::new([instance; 16], clock.clone());
        book.open(Arc::new(store.clone())).await.unwrap();
        SharedPermits::new(&book, "GET /", most)
    }

    #[tokio::test]
    async fn a_lease_also_ends_by_the_clock_of_the_instance_unless_renewed() {
        let (store, clock) = (Store::default(), Clock::at(7));
        let one = permits(&store, 1, 3, &clock).await;
        assert!(!one.enter(), "it holds nothing");
        assert!(one.wait().await && one.wait().await);
        one.leave();
        assert!(one.enter(), "it holds two");
        store.take_calls();
        one.renew().await;
        assert_eq!(store.take_calls(), [""; 0], "it is too early");
        clock.advance(RENEWAL);
        one.renew().await;
        assert_eq!(store.take_calls(), ["lease_permits"]);
        one.leave();
        clock.advance(LIFETIME - Duration::from_secs(1));
        assert!(one.enter(), "it was renewed");
        one.leave();
        clock.advance(Duration::from_secs(1));
        assert!(!one.enter(), "it is not known who has them now");
        assert!(one.wait().await);
    }

    #[tokio::test]
    async fn waiting_requests_share_a_call_of_the_store() {
        let (store, clock) = (Store::default(), Clock::system());
        let one = permits(&store, 1, 5, &clock).await;
        store.hold();
        let mut all = Box::pin(join_all((0..8).map(|_| one.wait())));
        assert!((&mut all).now_or_never().is_none());
        store.release();
        let entered = all.await.into_iter().filter(|entered| *entered).count();
        assert_eq!(entered, 5);
        let calls = store.take_calls().len();
        assert!(calls <= 2, "{calls} calls");
    }

    #[tokio::test]
    async fn permits_in_use_are_not_returned_and_returned_ones_not_used() {
        let (store, clock) = (Store::default(), Clock::at(7));
        let (one, two) = (permits(&store, 1, 4, &clock).await, permits(&store, 2, 4, &clock).await);
        for _ in 0..4 {
            assert!(one.wait().await);
        }
        one.leave();
        // Once to reset the peak, and once to return the permits.
        one.renew().await;
        assert!(!two.wait().await);
        store.hold();
        let mut giving_back = Box::pin(one.renew());
        assert!((&mut giving_back).now_or_never().is_none());
        assert!(!one.enter(), "that one is on its way back");
        store.release();
        giving_back.await;
        assert!(two.wait().await);
        assert!(!two.wait().await && !one.wait().await, "four are in flight");
    }

    #[tokio::test]
    async fn without_the_store_an_instance_counts_for_itself() {
        let (store, clock) = (Store::default(), Clock::at(7));
        let one = permits(&store, 1, 2, &clock).await;
        store.fail();
        assert!(one.wait().await && one.wait().await && !one.wait().await);
        let calls = store.take_calls().len();
        assert_eq!(calls, 1, "it is not asked each time");
        store.recover();
        clock.advance(ALONE);
        assert!(!one.wait().await);
        one.leave();
        assert!(one.wait().await);
    }
}
