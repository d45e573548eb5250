//! Tasks that last as long as their owner.

use tokio::task::{AbortHandle, JoinHandle};

/// A task that is aborted when this is dropped.
#[derive(Debug)]
pub(crate) struct BackgroundTask(AbortHandle);

impl BackgroundTask {
    pub(crate) fn new<T>(task: &JoinHandle<T>) -> Self {
        Self(task.abort_handle())
    }
}

impl Drop for BackgroundTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}
