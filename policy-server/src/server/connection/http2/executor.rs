//! Runs the requests of an HTTP/2 connection in the connection's own task until they wait.
//!
//! hyper spawns a task for every HTTP/2 request. On a work-stealing runtime, such a task wakes the
//! connection ahead of all other tasks when its response is ready, and the connection then writes
//! this one response: one system call per request, where one would do for all requests read
//! together. This executor collects the requests while the connection reads, runs them once, and
//! lets their responses be written together. A request that has to wait is spawned as a task, which
//! any worker may continue.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard},
    task::{Context, Poll, Waker},
    time::Duration,
};

use hyper::rt::Executor;
use pin_project_lite::pin_project;
use tokio::time::Instant;

use crate::base::{locks::lock, task::Work};

/// How long requests may compute in sequence before the rest is spawned for other workers.
const SHARE: Duration = Duration::from_micros(500);

/// Collects the futures that hyper spawns.
#[derive(Clone, Default)]
pub(super) struct StreamExecutor(Arc<Mutex<CollectedWork>>);

#[derive(Default)]
struct CollectedWork {
    /// Whether the connection is being polled, so that collected futures run afterwards.
    is_open: bool,
    work: Vec<Work>,
}

impl StreamExecutor {
    fn collected(&self) -> MutexGuard<'_, CollectedWork> {
        lock(&self.0)
    }

    fn open(&self) {
        self.collected().is_open = true;
    }

    /// Swaps the collected futures for an empty list.
    fn close(&self, work: &mut Vec<Work>) {
        let mut collected = self.collected();
        collected.is_open = false;
        mem::swap(&mut collected.work, work);
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for StreamExecutor {
    fn execute(&self, future: F) {
        let work = Box::pin(future);
        let mut collected = self.collected();
        if collected.is_open {
            collected.work.push(work);
        } else {
            // A request that became a task can spawn more work, such as a tunnel.
            drop(collected);
            spawn(work);
        }
    }
}

pin_project! {
    /// An HTTP/2 connection with the requests that it spawns.
    pub(super) struct WithStreams<C> {
        #[pin]
        connection: C,
        executor: StreamExecutor,
        work: Vec<Work>,
    }

    impl<C> PinnedDrop for WithStreams<C> {
        fn drop(this: Pin<&mut Self>) {
            // The futures left by a connection that panicked hold the executor that holds them.
            this.executor.close(&mut Vec::new());
        }
    }
}

impl<C> WithStreams<C> {
    /// `serve` must create the connection with this executor.
    pub(super) fn new(serve: impl FnOnce(StreamExecutor) -> C) -> Self {
        let executor = StreamExecutor::default();
        Self { connection: serve(executor.clone()), executor, work: Vec::new() }
    }

    pub(super) fn connection(self: Pin<&mut Self>) -> Pin<&mut C> {
        self.project().connection
    }
}

impl<C: Future> Future for WithStreams<C> {
    type Output = C::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<C::Output> {
        let mut this = self.project();
        loop {
            this.executor.open();
            let ended = this.connection.as_mut().poll(context);
            this.executor.close(this.work);
            if ended.is_ready() {
                // Requests are completed even if the client is gone.
                this.work.drain(..).for_each(spawn);
                return ended;
            }
            if this.work.is_empty() {
                return Poll::Pending;
            }
            run(this.work);
            // Poll the connection again to write the responses.
        }
    }
}

/// Runs each future until it waits. If one computes for long, the rest is spawned.
fn run(work: &mut Vec<Work>) {
    let begun = Instant::now();
    let mut is_late = false;
    for mut work in work.drain(..) {
        // A spawned task is polled again with its own waker.
        let mut context = Context::from_waker(Waker::noop());
        let mut poll = || work.as_mut().poll(&mut context);
        // A panic ends only this request, as in a task.
        if is_late || catch_unwind(AssertUnwindSafe(&mut poll)).is_ok_and(|poll| poll.is_pending())
        {
            spawn(work);
        }
        is_late |= begun.elapsed() > SHARE;
    }
}

fn spawn(work: Work) {
    tokio::spawn(work);
}

#[cfg(test)]
mod tests {
    use std::{
        future::{poll_fn, ready},
        pin::pin,
        sync::{
            atomic::{AtomicU32, Ordering::SeqCst},
            mpsc,
        },
    };

    use tokio::{task::yield_now, time::advance};

    use super::*;

    // Time is paused, so that no request is late because the machine is busy.

    /// A connection that spawns a number of requests when first polled, and records at each later
    /// poll how many are complete.
    fn connection(
        requests: u32,
        request: impl Fn(u32, Arc<AtomicU32>) -> Work + Send + 'static,
    ) -> (WithStreams<Work>, mpsc::Receiver<u32>) {
        let (sender, receiver) = mpsc::channel();
        let with = WithStreams::new(move |executor| {
            let done = Arc::new(AtomicU32::new(0));
            let mut is_begun = false;
            Box::pin(poll_fn(move |_context| {
                if !is_begun {
                    is_begun = true;
                    for number in 0..requests {
                        executor.execute(request(number, Arc::clone(&done)));
                    }
                }
                sender.send(done.load(SeqCst)).unwrap();
                Poll::Pending
            })) as Work
        });
        (with, receiver)
    }

    fn poll<C: Future + Unpin>(with: &mut WithStreams<C>) -> Poll<C::Output> {
        Pin::new(with).poll(&mut Context::from_waker(Waker::noop()))
    }

    async fn settled(done: &Arc<AtomicU32>, count: u32) {
        // The clock of these tests is paused, so the wait is bounded by a number of turns.
        for _ in 0..100_000 {
            if done.load(SeqCst) >= count {
                return;
            }
            yield_now().await;
        }
        panic!("{count} tasks are not done, but {}", done.load(SeqCst));
    }

    #[tokio::test(start_paused = true)]
    async fn pipelined_requests_are_served_before_anything_is_written() {
        let (mut with, receiver) = connection(5, |_, done| {
            Box::pin(async move {
                done.fetch_add(1, SeqCst);
            })
        });
        assert!(poll(&mut with).is_pending());
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [0, 5]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiting_stream_continues_on_its_own() {
        let outside = Arc::new(AtomicU32::new(0));
        let after = Arc::clone(&outside);
        let (mut with, receiver) = connection(3, move |number, done| {
            let after = Arc::clone(&after);
            Box::pin(async move {
                if number == 1 {
                    yield_now().await;
                    after.fetch_add(1, SeqCst);
                }
                done.fetch_add(1, SeqCst);
            })
        });
        assert!(poll(&mut with).is_pending());
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [0, 2]);
        settled(&outside, 1).await;
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_computes_for_long_holds_up_no_later_one() {
        let (mut with, receiver) = connection(3, |number, done| {
            Box::pin(async move {
                if number == 0 {
                    // Time advances before any request would have to wait for it.
                    let mut advance = pin!(advance(SHARE * 2));
                    let _ = poll_fn(|context| Poll::Ready(advance.as_mut().poll(context))).await;
                }
                done.fetch_add(1, SeqCst);
            })
        });
        assert!(poll(&mut with).is_pending());
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [0, 1], "the others are given away");
        for _ in 0..3 {
            yield_now().await;
        }
        assert!(poll(&mut with).is_pending());
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [3]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_ends_its_own_request() {
        let (mut with, receiver) = connection(3, |number, done| {
            Box::pin(async move {
                if number == 0 {
                    std::panic::resume_unwind(Box::new("a request panics"));
                }
                done.fetch_add(1, SeqCst);
            })
        });
        assert!(poll(&mut with).is_pending());
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [0, 2]);
    }

    /// hyper spawns the sending half of a tunnel on the executor when its request is complete.
    #[tokio::test(start_paused = true)]
    async fn tasks_that_hyper_spawns_run() {
        let executor = StreamExecutor::default();
        let done = Arc::new(AtomicU32::new(0));
        let noted = Arc::clone(&done);
        executor.execute(async move {
            noted.fetch_add(1, SeqCst);
        });
        settled(&done, 1).await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_connection_ends_no_request() {
        let done = Arc::new(AtomicU32::new(0));
        let noted = Arc::clone(&done);
        let mut with = WithStreams::new(move |executor| {
            executor.open();
            executor.execute(async move {
                noted.fetch_add(1, SeqCst);
            });
            ready(())
        });
        assert!(poll(&mut with).is_ready());
        settled(&done, 1).await;
    }

    /// Requests hold the executor, which must not hold them.
    #[test]
    fn a_connection_that_panics_leaves_nothing_behind() {
        let mut with = WithStreams::new(|executor| {
            poll_fn(move |_context| -> Poll<()> {
                let held = executor.clone();
                executor.execute(async move { drop(held) });
                std::panic::resume_unwind(Box::new("the connection panics"))
            })
        });
        let executor = Arc::downgrade(&with.executor.0);
        assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut with))).is_err());
        drop(with);
        assert_eq!(executor.strong_count(), 0);
    }
}
