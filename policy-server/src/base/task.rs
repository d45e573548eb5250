//! Tasks that last as long as their owner.

use tokio::task::AbortHandle;

/// A task that is aborted when this is dropped.
#[derive(Debug)]
pub(crate) struct BackgroundTask(AbortHandle);

impl BackgroundTask {
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
