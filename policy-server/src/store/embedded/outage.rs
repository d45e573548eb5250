//! From a write that failed to the next one that succeeds.

use std::{
    sync::{
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use super::writer::{Core, Job, Kind, write_endings};
use crate::base::event::log;

/// The shortest and the longest wait before the next attempt. It doubles with each.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(5);

/// An attempt opens the file again, which may read all of it. The next wait is at least this many
/// times as long.
const SHARE: u32 = 10;

/// After this time without an error, the waits start again at the shortest.
const CALM: Duration = Duration::from_secs(10);

/// The outages of a store, which may follow each other closely on a disk that is nearly full.
#[derive(Debug)]
pub(super) struct Outage {
    wait: Duration,
    ended: Option<Instant>,
}

impl Default for Outage {
    fn default() -> Self {
        Self { wait: SHORTEST, ended: None }
    }
}

impl Outage {
    /// Refuses everything until a write succeeds, or until no caller is left. Refused endings take
    /// effect in this process.
    pub(super) fn last(
        &mut self,
        core: &Core,
        jobs: &Receiver<Box<dyn Job>>,
        failed: Vec<Box<dyn Job>>,
        error: &str,
    ) {
        core.is_writable.store(false, Ordering::Release);
        log!(StoreNotWritten, %error);
        if self.ended.is_none_or(|ended| ended.elapsed() >= CALM) {
            self.wait = SHORTEST;
        }
        let mut reason = format!("nothing can be written: {error}");
        // If this succeeds, reads continue; otherwise they fail.
        let mut took = open_again(core);
        failed.into_iter().for_each(|job| refuse(core, job, &reason));
        loop {
            let wait = self.wait.max(took * SHARE);
            self.wait = (self.wait * 2).min(LONGEST);
            let is_last = !refuse_for(wait, core, jobs, &reason);
            let begun = Instant::now();
            match write_endings(core) {
                Ok(()) => break,
                Err(_) if is_last => return,
                Err(error) => {
                    reason = format!("nothing can be written: {error}");
                    open_again(core);
                    took = begun.elapsed();
                }
            }
        }
        self.ended = Some(Instant::now());
        core.is_writable.store(true, Ordering::Release);
        log!(StoreWritten);
    }
}

/// Opens the database again. Returns how long it took.
fn open_again(core: &Core) -> Duration {
    let begun = Instant::now();
    // An error shows at the next attempt to write.
    if core.current.reopen().is_ok()
        && let Ok(database) = core.current.in_use().database()
    {
        // If this fails, reads fail until it succeeds.
        let _ = core.ended.resolve(database);
    }
    begun.elapsed()
}

/// Refuses all jobs for a time. Returns whether there are callers left.
fn refuse_for(wait: Duration, core: &Core, jobs: &Receiver<Box<dyn Job>>, reason: &str) -> bool {
    let end = Instant::now() + wait;
    loop {
        match jobs.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(job) => refuse(core, job, reason),
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

fn refuse(core: &Core, job: Box<dyn Job>, reason: &str) {
    if let Kind::Ending(ending) = job.kind() {
        let in_use = core.current.in_use();
        core.ended.keep(ending.clone(), in_use.database().ok());
    }
    job.answer(Some(reason));
}
