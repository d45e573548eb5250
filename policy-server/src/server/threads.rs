//! One runtime for each core.

use std::{
    io,
    thread::{self, available_parallelism},
    time::{Duration, Instant},
};

use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::{mpsc, oneshot},
};

use super::LAST_TASKS;
use crate::base::timers;

/// A thread with its own runtime for each core. They end when this is dropped.
#[derive(Debug)]
pub(super) struct Cores {
    runtimes: Vec<Handle>,
    /// The threads run until these are dropped.
    going_on: Vec<oneshot::Sender<()>>,
    /// Closed with the last of the threads.
    all_ended: mpsc::Receiver<()>,
}

impl Cores {
    pub(super) fn start() -> io::Result<Self> {
        let (running, all_ended) = mpsc::channel(1);
        let mut cores = Self { runtimes: Vec::new(), going_on: Vec::new(), all_ended };
        for number in 0..count() {
            let (runtime, going_on) = start(number, running.clone())?;
            cores.runtimes.push(runtime);
            cores.going_on.push(going_on);
        }
        Ok(cores)
    }

    pub(super) fn runtimes(&self) -> &[Handle] {
        &self.runtimes
    }

    /// Ends the threads, and waits for them.
    pub(super) async fn end(self) {
        let Self { going_on, mut all_ended, .. } = self;
        drop(going_on);
        // Nothing is ever sent.
        all_ended.recv().await;
    }
}

/// The number of cores that this process may use.
pub(super) fn count() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// The runtime of a core, and the sender that keeps its thread alive.
fn start(number: usize, running: mpsc::Sender<()>) -> io::Result<(Handle, oneshot::Sender<()>)> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let (going_on, ended) = oneshot::channel();
    thread::Builder::new().name(format!("policy-core-{number}")).spawn(move || {
        timers::keep_off_this_thread();
        runtime.block_on(async {
            // The sender is dropped without sending.
            let _ = ended.await;
            finish(&runtime).await;
        });
        drop((runtime, running));
    })?;
    Ok((handle, going_on))
}

/// Lets the remaining tasks of a runtime end.
async fn finish(runtime: &Runtime) {
    let since = Instant::now();
    while runtime.metrics().num_alive_tasks() > 0 && since.elapsed() < LAST_TASKS {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    };

    use super::*;

    #[tokio::test]
    async fn tasks_stay_on_the_thread_of_their_core() {
        let cores = Cores::start().unwrap();
        assert_eq!(cores.runtimes().len(), count());
        for (number, runtime) in cores.runtimes().iter().enumerate() {
            let name = || thread::current().name().map(str::to_owned);
            let of_child = runtime.spawn(async move {
                tokio::task::yield_now().await;
                (name(), tokio::spawn(async move { name() }).await.unwrap())
            });
            let expected = Some(format!("policy-core-{number}"));
            assert_eq!(of_child.await.unwrap(), (expected.clone(), expected));
        }
        cores.end().await;
    }

    #[tokio::test]
    async fn short_tasks_finish_and_long_ones_are_cut_off() {
        let cores = Cores::start().unwrap();
        let is_done = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&is_done);
        let runtime = cores.runtimes().first().unwrap();
        runtime.spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            noted.store(true, SeqCst);
        });
        let forever = runtime.spawn(std::future::pending::<()>());
        cores.end().await;
        assert!(is_done.load(SeqCst));
        assert!(forever.await.unwrap_err().is_cancelled());
    }
}
