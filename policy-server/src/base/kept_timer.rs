//! A timer that is kept for the next wait.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep};

use super::timers::deadline;

/// A timer of the current runtime. Resetting a timer takes a third of the instructions of creating
/// and dropping one, since the runtime is not informed before it fires. So a kept timer may wake its
/// last task once more.
#[derive(Debug, Default)]
pub(crate) struct KeptTimer(Option<Pin<Box<Sleep>>>);

impl KeptTimer {
    /// Begins to wait.
    pub(crate) fn set(&mut self, time: Duration) {
        match &mut self.0 {
            Some(timer) => timer.as_mut().reset(deadline(Instant::now(), time)),
            timer => *timer = Some(Box::pin(sleep(time))),
        }
    }

    /// Ready when the time is over, or if none was set.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().map_or(Poll::Ready(()), |timer| timer.as_mut().poll(context))
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_measures_each_wait_from_its_beginning() {
        let (mut timer, begun) = (KeptTimer::default(), Instant::now());
        for (seconds, in_all) in [(30, 30), (10, 40), (20, 60)] {
            timer.set(Duration::from_secs(seconds));
            poll_fn(|context| timer.poll(context)).await;
            assert_eq!(begun.elapsed().as_secs(), in_all);
        }
        timer.set(Duration::from_secs(30));
        timer.set(Duration::from_secs(60));
        poll_fn(|context| timer.poll(context)).await;
        assert_eq!(begun.elapsed().as_secs(), 120);
        timer.set(Duration::MAX);
        assert!(poll_fn(|context| Poll::Ready(timer.poll(context))).await.is_pending());
    }
}
