//! The permits of one limit, of all instances together.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::{Mutex, OwnedMutexGuard},
};

use super::{LIFETIME, LimitBook, RENEWAL, key_of};
use crate::{
    base::task,
    store::{LeasePermits, LimitKey, StoreError},
};

/// How long each instance counts separately after a call of the store failed.
const ALONE: Duration = Duration::from_secs(1);

/// The requests in flight at this instance, and the permits that it holds.
#[derive(Debug)]
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
    /// Locked during a call of the store.
    asking: Arc<Mutex<StoreCalls>>,
}

#[derive(Debug, Default)]
struct StoreCalls {
    /// When the last call of the store began.
    begun: Duration,
    /// Until then no request calls the store.
    alone_until: Duration,
    /// Whether the last call failed: the store may nevertheless have made the change.
    is_unclear: bool,
    /// Whether the last call got fewer permits than it asked for.
    is_short: bool,
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
            asking: Arc::default(),
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
    pub(crate) async fn wait(self: &Arc<Self>) -> bool {
        let _waits = Waiting::among(&self.waiting);
        let begun = self.book.clock.monotonic();
        let mut calls = Arc::clone(&self.asking).lock_owned().await;
        if self.enter() {
            return true;
        }
        if calls.alone_until <= begun {
            if calls.is_short && calls.begun > begun {
                // That call was for this request, too. One that got enough says nothing: another request
                // has taken the permit since, or a renewal has returned it.
                return false;
            }
            calls.begun = self.book.clock.monotonic();
            let counts = Counts::from_word(self.counts.load(Ordering::SeqCst));
            let wish = counts.in_flight.saturating_add(self.waiting.load(Ordering::SeqCst));
            let (_calls, is_answered) = LeaseCall::new(self, calls, wish).await;
            if is_answered {
                return self.enter();
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
        let mut calls = self.asking.lock().await;
        let counts = Counts::from_word(self.counts.load(Ordering::Acquire));
        let used = self.peak.swap(counts.in_flight, Ordering::Relaxed).max(counts.in_flight);
        if used > counts.in_flight {
            // Permits that were used until now are returned the next time.
            self.book.freed.notify_one();
        }
        let renewed = nanos(self.book.clock.monotonic() + LIFETIME - RENEWAL);
        let is_due = used > 0 && self.ends.load(Ordering::Acquire) <= renewed;
        if used < counts.held || is_due || calls.is_unclear {
            // If this fails, the next renewal repeats it.
            let _is_logged = self.ask(&mut calls, used).await;
        }
    }

    /// Sets how many permits this instance holds.
    async fn ask(&self, calls: &mut StoreCalls, wish: u32) -> Result<(), StoreError> {
        // From here on, no request enters with a permit that is returned.
        let lowered =
            |counts: Counts| Counts { held: counts.held.min(wish.max(counts.in_flight)), ..counts };
        let before = self.update(|counts| Some(lowered(counts)));
        let in_flight = before.map_or(0, |before| before.in_flight);
        let wish = wish.max(in_flight);
        let begun = self.book.clock.monotonic();
        let instance = self.book.instance;
        let at_most = wish.min(self.most);
        let request = LeasePermits::new(self.key, self.most, instance, at_most, LIFETIME);
        calls.is_unclear = true;
        let held = self.book.store()?.lease_permits(request).await?;
        calls.is_unclear = false;
        calls.is_short = held < wish;
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

/// A request's call of the store. If the client disconnects, a task completes the call: otherwise this
/// instance would not know which permits it holds, and a later call could overtake this one.
struct LeaseCall {
    permits: Arc<SharedPermits>,
    /// `None` once it has completed.
    call: Option<Pin<Box<dyn Future<Output = AnsweredCall> + Send>>>,
}

/// The lock that the call held, and whether the store answered.
type AnsweredCall = (OwnedMutexGuard<StoreCalls>, bool);

impl LeaseCall {
    fn new(
        permits: &Arc<SharedPermits>,
        mut calls: OwnedMutexGuard<StoreCalls>,
        wish: u32,
    ) -> Self {
        let this = Arc::clone(permits);
        let call = async move {
            let is_answered = this.ask(&mut calls, wish).await.is_ok();
            if !is_answered {
                calls.alone_until = this.book.clock.monotonic() + ALONE;
            }
            (calls, is_answered)
        };
        Self { permits: Arc::clone(permits), call: Some(Box::pin(call)) }
    }
}

impl Future for LeaseCall {
    type Output = AnsweredCall;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<AnsweredCall> {
        let Some(call) = &mut self.call else { return Poll::Pending };
        let answered = ready!(call.as_mut().poll(context));
        self.call = None;
        Poll::Ready(answered)
    }
}

impl Drop for LeaseCall {
    fn drop(&mut self) {
        if let (Some(call), Ok(runtime)) = (self.call.take(), Handle::try_current()) {
            let permits = Arc::clone(&self.permits);
            task::spawn(&runtime, async move {
                drop(call.await);
                // The request that is gone uses no permit.
                permits.book.freed.notify_one();
            });
        }
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
    async fn a_client_that_disconnects_during_a_call_refuses_no_other() {
        let (store, clock) = (Store::default(), Clock::at(7));
        let one = permits(&store, 1, 3, &clock).await;
        store.hold();
        let mut first = Box::pin(one.wait());
        assert!((&mut first).now_or_never().is_none());
        let (mut gone, mut last) = (Box::pin(one.wait()), Box::pin(one.wait()));
        assert!((&mut gone).now_or_never().is_none());
        assert!((&mut last).now_or_never().is_none());
        clock.advance(ALONE);
        store.step();
        assert!(first.await);
        assert!((&mut gone).now_or_never().is_none(), "it calls the store for both");
        drop(gone);
        store.release();
        assert!(last.await, "one is in flight, and three are allowed");
    }

    #[tokio::test]
    async fn a_request_whose_permit_another_one_took_gets_a_further_one() {
        let (store, clock) = (Store::default(), Clock::at(7));
        let one = permits(&store, 1, 10, &clock).await;
        store.hold();
        let mut first = Box::pin(one.wait());
        assert!((&mut first).now_or_never().is_none());
        let (mut second, mut last) = (Box::pin(one.wait()), Box::pin(one.wait()));
        assert!((&mut second).now_or_never().is_none());
        assert!((&mut last).now_or_never().is_none());
        clock.advance(Duration::from_millis(1));
        store.step();
        assert!(first.await);
        assert!((&mut second).now_or_never().is_none(), "it calls the store for both");
        store.step();
        assert!(second.await);
        assert!(one.enter(), "a request that did not wait");
        store.release();
        assert!(last.await, "three are in flight, and ten are allowed");
    }

    #[tokio::test]
    async fn a_client_that_disconnects_during_a_call_keeps_no_permit() {
        let (store, clock) = (Store::default(), Clock::at(7));
        let (one, two) = (permits(&store, 1, 1, &clock).await, permits(&store, 2, 1, &clock).await);
        store.hold();
        let mut gone = Box::pin(one.wait());
        assert!((&mut gone).now_or_never().is_none());
        drop(gone);
        store.release();
        // The task has the lock.
        drop(one.asking.lock().await);
        assert!(!two.wait().await, "the call was completed");
        assert!(one.book.freed.notified().now_or_never().is_some());
        one.renew().await;
        assert!(two.wait().await);
    }

    #[tokio::test]
    async fn a_return_that_fails_is_repeated() {
        let (store, clock) = (Store::default(), Clock::at(7));
        let (one, two) = (permits(&store, 1, 1, &clock).await, permits(&store, 2, 1, &clock).await);
        assert!(one.wait().await);
        one.leave();
        // Once to reset the peak, and once to return the permit.
        one.renew().await;
        store.fail();
        one.renew().await;
        store.recover();
        assert!(!two.wait().await, "the store has not heard of it");
        one.renew().await;
        assert!(two.wait().await);
        store.take_calls();
        one.renew().await;
        assert_eq!(store.take_calls(), [""; 0], "it is repeated once");
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
