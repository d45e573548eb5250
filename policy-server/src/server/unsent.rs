//! The memory of responses that clients have not read yet.
//!
//! A handler that returns a whole body has it in memory until the client has read the last byte of
//! it. The memory itself is counted: each large frame of a body carries its count with it through
//! the buffers of the protocol, and subtracts it when it is dropped.

use std::{
    collections::HashMap,
    mem,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
};
#[cfg(any(test, feature = "http2"))]
use std::{future::pending, pin::pin};

use axum_core::body::Body;
use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http_body::Body as _;
use tokio::{sync::Notify, time::Instant};

use crate::{
    app::settings::ServerSettings,
    base::{
        body::{BodyObserver, ObservedBody, PolledBody, PolledFrame},
        locks::lock,
    },
};

/// Frames up to this size are not counted: the buffers of each protocol bound their sum.
const SMALL: usize = 64 * 1024;

/// The unsent bytes of all connections of a server.
#[derive(Debug)]
pub(super) struct UnsentBudget {
    in_all: usize,
    per_connection: usize,
    held: AtomicUsize,
    holding: Mutex<Holding>,
}

/// The connections with unsent bytes, by their addresses in memory.
type Holding = HashMap<usize, Weak<Unsent>>;

impl UnsentBudget {
    pub(super) fn new(settings: &ServerSettings) -> Self {
        Self {
            in_all: settings.max_unsent_total,
            per_connection: settings.max_unsent_per_connection,
            held: AtomicUsize::new(0),
            holding: Mutex::default(),
        }
    }

    /// Closes connections until the others are within the budget: first those that exceed their own
    /// budget, then those whose clients have not read a whole frame for the longest time. A single
    /// response is kept, however large it is.
    fn make_room(&self) {
        let holding = lock(&self.holding);
        let mut open: Vec<_> = holding.values().filter_map(Weak::upgrade).collect();
        drop(holding);
        open.retain(|connection| !connection.is_closed());
        let mut held: usize = open.iter().map(|connection| connection.held.load(Relaxed)).sum();
        // The last ones are closed first. The keys are read once, since other threads change them
        // meanwhile, and a sort may panic without a total order.
        open.sort_by_cached_key(|connection| {
            (connection.is_full(), std::cmp::Reverse(connection.since()))
        });
        while held > self.in_all
            && let Some(last) = open.pop()
            && (!open.is_empty() || last.frames.load(Relaxed) > 1)
        {
            tracing::debug!("a connection ended, since its client did not read its responses");
            held = held.saturating_sub(last.held.load(Relaxed));
            last.close();
            last.evicted.wake();
        }
    }
}

/// The unsent bytes of one connection.
#[derive(Debug)]
pub(super) struct Unsent {
    budget: Arc<UnsentBudget>,
    held: AtomicUsize,
    frames: AtomicUsize,
    /// When the client last read a frame or, if it has read none, when the first frame was there.
    since: Mutex<Option<Instant>>,
    /// Wakes requests that wait for the client to read.
    room: Notify,
    /// Whether the connection has to be closed, or is.
    is_closed: AtomicBool,
    evicted: AtomicWaker,
}

impl Unsent {
    pub(super) fn new(budget: &Arc<UnsentBudget>) -> Arc<Self> {
        Arc::new(Self {
            budget: Arc::clone(budget),
            held: AtomicUsize::new(0),
            frames: AtomicUsize::new(0),
            since: Mutex::default(),
            room: Notify::new(),
            is_closed: AtomicBool::new(false),
            evicted: AtomicWaker::new(),
        })
    }

    /// Whether the client has something to read.
    pub(super) fn is_waiting(&self) -> bool {
        self.held.load(Relaxed) > 0
    }

    /// Whether further requests have to wait.
    pub(super) fn is_full(&self) -> bool {
        self.held.load(Relaxed) >= self.budget.per_connection
    }

    /// Waits until the connection holds fewer unsent bytes than its budget, so that the caller may
    /// run its handler. Wakes one waiting request at a time: the caller drops its turn after its
    /// response is counted, which wakes the next one.
    #[cfg(any(test, feature = "http2"))]
    pub(super) async fn room(self: &Arc<Self>) -> Turn {
        loop {
            let mut room = pin!(self.room.notified());
            room.as_mut().enable();
            match (self.is_closed(), self.is_full()) {
                // Memory that is freed by closing the connection admits no request. This future is
                // dropped with the connection.
                (true, _) => pending().await,
                (false, true) => room.await,
                (false, false) => return Turn(Arc::clone(self)),
            }
        }
    }

    /// Wakes a waiting request, unless the budget of the connection is used up.
    fn admit_next(&self) {
        if !self.is_full() {
            self.room.notify_one();
        }
    }

    /// Ready once the connection has to be closed.
    pub(super) fn poll_evicted(&self, context: &Context<'_>) -> Poll<()> {
        self.evicted.register(context.waker());
        if self.is_closed() { Poll::Ready(()) } else { Poll::Pending }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }

    /// Marks the connection as closed: waiting requests no longer begin.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Relaxed);
    }

    fn since(&self) -> Option<Instant> {
        *lock(&self.since)
    }

    fn note_progress(&self) {
        *lock(&self.since) = Some(Instant::now());
    }

    /// Counts the large frames of a body. One that states a large size is polled at once, even while
    /// the client has no room for its first byte, since it may be in memory as a whole.
    pub(super) fn watch(self: &Arc<Self>, body: Body) -> CountedBody {
        let is_large = body.size_hint().lower() > SMALL as u64;
        let body = ObservedBody::new(body, Arc::clone(self));
        if is_large { PolledBody::new(body) } else { PolledBody::unpolled(body) }
    }

    /// Counts a large frame whose memory is not shared. Shared memory, such as a file that is part
    /// of the program, exists anyway.
    fn count(self: &Arc<Self>, frame: &mut Bytes) {
        let len = frame.len();
        if len <= SMALL || !frame.is_unique() {
            return;
        }
        self.frames.fetch_add(1, Relaxed);
        if self.held.fetch_add(len, Relaxed) == 0 {
            self.note_progress();
            let address = Arc::as_ptr(self) as usize;
            lock(&self.budget.holding).insert(address, Arc::downgrade(self));
        }
        let in_all = self.budget.held.fetch_add(len, Relaxed) + len;
        let counted = CountedFrame { bytes: mem::take(frame), unsent: Arc::clone(self) };
        if in_all > self.budget.in_all {
            self.budget.make_room();
        }
        *frame = Bytes::from_owner(counted);
    }
}

/// A body whose large frames are counted.
pub(super) type CountedBody = PolledBody<ObservedBody<Body, Arc<Unsent>>>;

impl BodyObserver<Body> for Arc<Unsent> {
    fn after(&mut self, polled: &mut PolledFrame<Body>, _body: &Body, _context: &mut Context<'_>) {
        if let Poll::Ready(Some(Ok(frame))) = polled
            && let Some(data) = frame.data_mut()
        {
            self.count(data);
        }
    }
}

/// The turn of a request that waited. It is passed on even if the client gives the request up.
#[cfg(any(test, feature = "http2"))]
#[derive(Debug)]
pub(super) struct Turn(Arc<Unsent>);

#[cfg(any(test, feature = "http2"))]
impl Drop for Turn {
    fn drop(&mut self) {
        self.0.admit_next();
    }
}

/// A frame in memory.
struct CountedFrame {
    bytes: Bytes,
    unsent: Arc<Unsent>,
}

impl AsRef<[u8]> for CountedFrame {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for CountedFrame {
    fn drop(&mut self) {
        let Self { bytes, unsent } = self;
        let len = bytes.len();
        // Before the count, so that the memory is free when a request begins.
        *bytes = Bytes::new();
        unsent.budget.held.fetch_sub(len, Relaxed);
        unsent.frames.fetch_sub(1, Relaxed);
        if unsent.held.fetch_sub(len, Relaxed) > len {
            unsent.note_progress();
            return unsent.admit_next();
        }
        let mut holding = lock(&unsent.budget.holding);
        // Another task may have added a frame since.
        if !unsent.is_waiting() {
            holding.remove(&(Arc::as_ptr(unsent) as usize));
        }
        drop(holding);
        unsent.room.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::Pin, task::Waker, thread};

    use futures_util::FutureExt;

    use super::*;

    const MIB: usize = 1 << 20;

    fn budget(in_all: usize, per_connection: usize) -> Arc<UnsentBudget> {
        let settings = ServerSettings::default()
            .max_unsent_total(in_all * MIB)
            .max_unsent_per_connection(per_connection * MIB);
        Arc::new(UnsentBudget::new(&settings))
    }

    fn body(unsent: &Arc<Unsent>, bytes: Bytes) -> CountedBody {
        unsent.watch(Body::from(bytes))
    }

    fn whole(unsent: &Arc<Unsent>, mib: usize) -> CountedBody {
        body(unsent, Bytes::from(vec![7; mib * MIB]))
    }

    fn frame(body: &mut CountedBody) -> Bytes {
        let frame = Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Some(Ok(frame))) = frame else { panic!("no frame") };
        frame.into_data().expect("data")
    }

    #[test]
    fn a_whole_body_is_counted_until_its_last_byte_is_gone() {
        let unsent = Unsent::new(&budget(100, 2));
        let mut body = whole(&unsent, 2);
        assert!(unsent.is_waiting() && unsent.is_full());
        assert_eq!(body.size_hint().exact(), Some(2 << 20));
        assert!(!body.is_end_stream());
        let mut data = frame(&mut body);
        assert!(body.is_end_stream());
        let last = data.split_off(2 * MIB - 1);
        drop((data, body));
        assert!(unsent.is_full());
        drop(last);
        assert!(!unsent.is_waiting());
        assert!(lock(&unsent.budget.holding).is_empty());
        assert_eq!(unsent.budget.held.load(Relaxed), 0);
    }

    #[test]
    fn small_and_shared_frames_are_not_counted() {
        let unsent = Unsent::new(&budget(100, 2));
        let shared = Bytes::from(vec![7; MIB]);
        let bytes = [Bytes::from(vec![7; SMALL]), shared.clone(), Bytes::from_static(&[7; MIB])];
        let bodies = bytes.map(|bytes| body(&unsent, bytes));
        assert!(!unsent.is_waiting());
        drop((bodies, shared));
    }

    #[test]
    fn requests_begin_one_after_the_other_when_there_is_room() {
        let unsent = Unsent::new(&budget(100, 2));
        let (one, other) = (whole(&unsent, 1), whole(&unsent, 1));
        let mut waiting: Vec<_> = (0..4).map(|_| Box::pin(unsent.room())).collect();
        let mut begin = || {
            let mut turns = Vec::new();
            waiting.retain_mut(|room| {
                let turn = room.as_mut().now_or_never();
                let waits = turn.is_none();
                turns.extend(turn);
                waits
            });
            turns
        };
        assert!(begin().is_empty());
        drop(one);
        let turn = begin();
        assert_eq!((turn.len(), begin().len()), (1, 0));
        drop(turn);
        let turn = begin();
        assert_eq!((turn.len(), begin().len()), (1, 0));
        drop(other);
        assert_eq!(begin().len(), 2, "nothing is held");
    }

    #[test]
    fn no_request_begins_on_a_connection_that_is_closed() {
        let unsent = Unsent::new(&budget(100, 1));
        let body = whole(&unsent, 1);
        let mut room = Box::pin(unsent.room());
        assert!(room.as_mut().now_or_never().is_none());
        unsent.close();
        drop(body);
        assert!(room.as_mut().now_or_never().is_none());
    }

    #[test]
    fn connections_above_their_budget_and_the_oldest_are_closed() {
        let budget = budget(10, 4);
        let connections = [0; 5].map(|_| Unsent::new(&budget));
        let [oldest, old, greedy, young, last] = &connections;
        let closed = || connections.each_ref().map(|connection| connection.is_closed());
        let held = [whole(oldest, 2), whole(old, 2), whole(greedy, 4), whole(young, 2)];
        assert_eq!(closed(), [false; 5]);
        let more = whole(last, 2);
        assert_eq!(closed(), [false, false, true, false, false]);
        let most = whole(last, 3);
        assert_eq!(closed(), [false, false, true, false, true]);
        drop((held, more, most));
    }

    #[test]
    fn connections_are_compared_while_frames_come_and_go() {
        let budget = budget(1000, 1);
        let connections: Vec<_> = (0..200).map(|_| Unsent::new(&budget)).collect();
        let frames = || -> Vec<_> {
            let frame = |unsent| body(unsent, Bytes::from(vec![7; SMALL + 1]));
            connections.iter().map(frame).collect()
        };
        let _held = frames();
        thread::scope(|scope| {
            let sorts = scope.spawn(|| (0..1000).for_each(|_| budget.make_room()));
            while !sorts.is_finished() {
                drop(frames());
            }
        });
        assert!(connections.iter().all(|connection| !connection.is_closed()));
    }

    #[test]
    fn a_response_that_is_alone_is_kept_and_a_second_one_is_not() {
        let unsent = Unsent::new(&budget(3, 1));
        let one = whole(&unsent, 4);
        assert!(!unsent.is_closed());
        let other = whole(&unsent, 1);
        assert!(unsent.is_closed());
        drop((one, other));
    }
}
