//! Tasks, compiled once: tokio's code for a task is some sixty functions for each type of future, so
//! futures are boxed unless there is one for each connection.

use std::pin::Pin;

use tokio::{
    runtime::Handle,
    task::{AbortHandle, JoinHandle},
};

/// The future of a task.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Spawns a task that runs until it completes.
pub(crate) fn spawn(
    runtime: &Handle,
    work: impl Future<Output = ()> + Send + 'static,
) -> JoinHandle<()> {
    let work: Work = Box::pin(work);
    runtime.spawn(work)
}

/// A task that is aborted when this is dropped.
#[derive(Debug)]
pub(crate) struct BackgroundTask(AbortHandle);

impl BackgroundTask {
    pub(crate) fn spawn(runtime: &Handle, work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(spawn(runtime, work).abort_handle())
    }

    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(crate) fn new(task: AbortHandle) -> Self {
        Self(task)
    }

    #[cfg(feature = "gateway")]
    pub(crate) fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl Drop for BackgroundTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}
