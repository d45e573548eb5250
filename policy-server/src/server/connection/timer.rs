//! Closes connections whose clients keep them waiting.

use std::{
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep};

use crate::{app::settings::ServerSettings, base::timers, server::activity::Activity};

/// Closes a connection whose client keeps it waiting.
///
/// The timer is set once and checked when it fires, instead of being set again for every request:
/// [`Activity`] records what happened in between.
pub(in crate::server) struct Timer {
    sleep: Pin<Box<Sleep>>,
    /// Whether this task's waker is registered with the sleep. A connection stays in one task, so
    /// the waker never changes.
    is_registered: bool,
    header_timeout: Option<Duration>,
    is_watching_head: bool,
    look: Duration,
    last_moved: u32,
    /// The maximum of [`Activity::balance`] so far.
    paid: i64,
    /// The minimum increase of the balance between two checks.
    least: i64,
    quiet_looks: u32,
    /// Whether nothing moved before the latest check, and this was not reported yet.
    saw_quiet: bool,
}

/// A connection is idle after this many checks without progress.
const LOOKS: u32 = 4;

impl Timer {
    pub(in crate::server) fn new(
        settings: &ServerSettings,
        header_timeout: Option<Duration>,
    ) -> Self {
        let look = settings.idle_timeout / LOOKS;
        Self {
            sleep: Box::pin(timers::sleep(look)),
            is_registered: false,
            header_timeout,
            is_watching_head: false,
            look,
            last_moved: 0,
            paid: 0,
            least: least_within(look, settings.min_read_rate),
            quiet_looks: 0,
            saw_quiet: false,
        }
    }

    /// Whether nothing moved between the latest two checks. Each such period is reported once.
    pub(super) fn saw_quiet(&mut self) -> bool {
        mem::take(&mut self.saw_quiet)
    }

    /// Ready when the connection should be closed.
    pub(in crate::server) fn poll(
        &mut self,
        activity: &Activity,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        if let Some(timeout) = self.header_timeout
            && activity.is_reading_head() != self.is_watching_head
        {
            self.is_watching_head = !self.is_watching_head;
            self.set(if self.is_watching_head { timeout } else { self.look });
        }
        loop {
            if self.is_registered && !self.sleep.is_elapsed() {
                return Poll::Pending;
            }
            self.is_registered = true;
            ready!(self.sleep.as_mut().poll(context));
            if self.is_watching_head || self.is_idle(activity) {
                return Poll::Ready(());
            }
            self.set(self.look);
        }
    }

    fn is_idle(&mut self, activity: &Activity) -> bool {
        let (moved, paid) = (activity.progress(), activity.balance());
        // Further requests are no progress of responses that the client does not read.
        let is_asking = moved != self.last_moved && !activity.has_to_read();
        let is_moving = is_asking || paid.saturating_sub(self.paid) >= self.least;
        let is_quiet = activity.waits_for_client() && !is_moving;
        self.quiet_looks = if is_quiet { self.quiet_looks + 1 } else { 0 };
        self.saw_quiet = is_quiet;
        self.last_moved = moved;
        self.paid = self.paid.max(paid);
        self.quiet_looks >= LOOKS
    }

    fn set(&mut self, after: Duration) {
        self.sleep.as_mut().reset(timers::deadline(Instant::now(), after));
        self.is_registered = false;
    }
}

/// The bytes that a client reads within `time` at `rate` bytes per second; at least one.
fn least_within(time: Duration, rate: u32) -> i64 {
    let bytes = u128::from(rate) * time.as_millis() / 1000;
    i64::try_from(bytes).unwrap_or(i64::MAX).max(1)
}
