//! The thread of this process for signals and for long-lived timers: those of connections, background
//! tasks and open streams.

use std::{cell::Cell, io, sync::LazyLock, thread, time::Duration};

use tokio::{
    runtime::{Builder, Handle, RuntimeFlavor},
    time::{Instant, Sleep},
};

#[cfg(any(feature = "postgres", feature = "redis"))]
use super::task::BackgroundTask;

thread_local! {
    static HAS_NO_TIMERS: Cell<bool> = const { Cell::new(false) };
}

/// Makes [`sleep`] on the current thread, whose runtime is one of ours, use the timer thread.
#[cfg(feature = "per_core")]
pub(crate) fn keep_off_this_thread() {
    HAS_NO_TIMERS.set(true);
}

/// Like [`tokio::time::sleep`], but its timer is not one of the current runtime. A runtime with
/// timers looks up the next one and reads the clock whenever it waits for input, which under low
/// load is at every request.
///
/// A single-threaded runtime that is not ours uses its own timers: its time may be paused, as in
/// tests.
pub(crate) fn sleep(duration: Duration) -> Sleep {
    let is_of_one_thread =
        |runtime: Handle| runtime.runtime_flavor() == RuntimeFlavor::CurrentThread;
    if !HAS_NO_TIMERS.get() && Handle::try_current().is_ok_and(is_of_one_thread) {
        return tokio::time::sleep(duration);
    }
    let _entered = runtime().as_ref().ok().map(Handle::enter);
    tokio::time::sleep(duration)
}

/// The longest wait, which nothing reaches: 30 years, as in tokio. No operating system counts the
/// time up to `Duration::MAX`, which is a natural way to say "no time-out".
const LONGEST: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// The end of a wait.
pub(crate) fn deadline(begin: Instant, wait: Duration) -> Instant {
    begin + wait.min(LONGEST)
}

/// Opens a connection on the runtime of the app if that has several threads, so that a reply wakes
/// its request without another thread. A single-threaded runtime may be a per-core one, without
/// timers, or end before the connection does: the timer thread, which lasts as long as the process,
/// is then used instead.
#[cfg(any(feature = "postgres", feature = "redis"))]
pub(crate) async fn beside_requests<T: Send + 'static>(
    open: impl Future<Output = T> + Send + 'static,
) -> T {
    let is_shared = |runtime: Handle| runtime.runtime_flavor() == RuntimeFlavor::MultiThread;
    match runtime() {
        Ok(runtime) if !Handle::try_current().is_ok_and(is_shared) => {
            let task = runtime.spawn(open);
            // Aborts the task if the caller is dropped.
            let _opening = BackgroundTask::new(task.abort_handle());
            match task.await {
                Ok(opened) => opened,
                // The caller gives up at its deadline.
                Err(_ended) => std::future::pending().await,
            }
        }
        _ => open.await,
    }
}

/// A runtime for tasks that outlast requests: that of the thread, or the current one if the thread
/// did not start.
#[cfg(any(feature = "postgres", feature = "redis"))]
pub(crate) fn lasting_runtime() -> Handle {
    runtime().as_ref().map_or_else(|_error| Handle::current(), Handle::clone)
}

/// The runtime of the thread, which ends with the process. The error is that of its start.
pub(crate) fn runtime() -> &'static io::Result<Handle> {
    static RUNTIME: LazyLock<io::Result<Handle>> = LazyLock::new(|| {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let wait = move || runtime.block_on(std::future::pending::<()>());
        thread::Builder::new().name("policy-timers".to_owned()).spawn(wait)?;
        Ok(handle)
    });
    &RUNTIME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_of_many_threads_needs_no_timers() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(async { sleep(Duration::from_millis(1)).await });
    }

    #[test]
    fn a_wait_may_be_longer_than_time_is_counted() {
        let now = Instant::now();
        assert_eq!(deadline(now, Duration::MAX), now + LONGEST);
        assert_eq!(deadline(now, Duration::from_secs(9)), now + Duration::from_secs(9));
    }

    #[tokio::test(start_paused = true)]
    async fn stopped_time_passes_as_its_test_says() {
        sleep(Duration::from_secs(1_000_000)).await;
    }
}
