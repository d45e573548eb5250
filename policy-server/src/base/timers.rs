//! The thread of this process for signals and for the timers of what lasts: connections, background
//! tasks, open streams.

use std::{io, sync::LazyLock, thread, time::Duration};

use tokio::{
    runtime::{Builder, Handle},
    time::Sleep,
};

/// Like [`tokio::time::sleep`], but its timer is not one of the current runtime. A runtime that has
/// timers looks for the next one and reads the clock whenever it waits for input: while there are
/// few requests, at each of them.
pub(crate) fn sleep(duration: Duration) -> Sleep {
    let _entered = runtime().as_ref().ok().map(Handle::enter);
    tokio::time::sleep(duration)
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
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_sleep_needs_no_timers_where_it_is_awaited() {
        let runtime = Builder::new_current_thread().build().unwrap();
        let (begun, duration) = (Instant::now(), Duration::from_millis(20));
        runtime.block_on(sleep(duration));
        assert!(begun.elapsed() >= duration);
    }
}
