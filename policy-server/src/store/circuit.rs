//! When a server that does not respond is asked again.

use std::{
    fmt::Display,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::base::event::log;

/// So many failures in a row open the circuit: one connection may always break.
const FAILURES: u32 = 3;

/// The shortest and the longest time without a call. It doubles with each attempt that fails.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// Refuses calls while a server is away, so that no request waits for it, and lets one through now
/// and then. The times are random by half, so that instances do not ask at the same moment.
#[derive(Debug, Default)]
pub(super) struct Circuit {
    is_open: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// The last time without a call.
    pause: Duration,
    next: Option<Instant>,
}

impl Circuit {
    /// Whether calls are refused.
    pub(super) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Whether this call may go to the server.
    pub(super) fn admits(&self, now: Instant) -> bool {
        if !self.is_open() {
            return true;
        }
        let mut state = self.lock();
        if state.next.is_some_and(|next| now < next) {
            return false;
        }
        // The next one, if this one has not answered by then.
        state.next = Some(now + state.pause.max(SHORTEST));
        true
    }

    /// A call ended: by this failure, if the server is to blame for it. Logs when the server goes away
    /// and when it is back.
    pub(super) fn ended(&self, failure: Option<&dyn Display>) {
        match failure {
            Some(error) => {
                if self.failed(Instant::now(), random()) {
                    log!(StoreAway, %error);
                }
            }
            None => {
                if self.answered() {
                    log!(StoreBack);
                }
            }
        }
    }

    /// A call reached the server. Returns whether it was away.
    fn answered(&self) -> bool {
        // Ordinary calls write nothing that they share, except after a failure.
        if !self.is_open() && self.lock().failures == 0 {
            return false;
        }
        *self.lock() = State::default();
        self.is_open.swap(false, Ordering::AcqRel)
    }

    /// A call did not reach the server. `random` is between 0 and 1. Returns whether this opened the
    /// circuit.
    fn failed(&self, now: Instant, random: f64) -> bool {
        let mut state = self.lock();
        state.failures = state.failures.saturating_add(1);
        if state.failures < FAILURES {
            return false;
        }
        state.pause = (state.pause * 2).clamp(SHORTEST, LONGEST);
        state.next = Some(now + state.pause.mul_f64(0.5 + random.clamp(0.0, 1.0)));
        !self.is_open.swap(true, Ordering::AcqRel)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Between 0 and 1.
pub(super) fn random() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    (RandomState::new().hash_one(()) % 1000) as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    #[test]
    fn one_failure_refuses_nothing_and_three_in_a_row_do() {
        let (circuit, now) = (Circuit::default(), Instant::now());
        for _ in 0..5 {
            assert!(!circuit.failed(now, 0.5));
            assert!(!circuit.failed(now, 0.5));
            assert!(circuit.admits(now) && !circuit.answered());
        }
        assert!(!circuit.failed(now, 0.5) && !circuit.failed(now, 0.5));
        assert!(circuit.failed(now, 0.5), "it opens once");
        assert!(!circuit.failed(now, 0.5) && circuit.is_open());
    }

    #[test]
    fn while_it_is_open_one_call_passes_at_growing_intervals() {
        let (circuit, mut now) = (Circuit::default(), Instant::now());
        for _ in 0..FAILURES {
            circuit.failed(now, 0.5);
        }
        let mut pauses = vec![];
        for _ in 0..9 {
            let begun = now;
            while !circuit.admits(now) {
                now += MILLI;
            }
            pauses.push((now - begun).as_millis());
            // No second one meanwhile.
            assert!(!circuit.admits(now));
            circuit.failed(now, 0.5);
        }
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
        assert!(circuit.answered() && !circuit.is_open() && circuit.admits(now));
        // And it begins at the shortest again.
        for _ in 0..FAILURES {
            circuit.failed(now, 0.0);
        }
        assert!(!circuit.admits(now + 49 * MILLI) && circuit.admits(now + 50 * MILLI));
    }

    /// The call that was let through may never come back.
    #[test]
    fn a_call_without_an_answer_is_followed_by_another() {
        let (circuit, now) = (Circuit::default(), Instant::now());
        for _ in 0..FAILURES {
            circuit.failed(now, 1.0);
        }
        assert!(circuit.admits(now + LONGEST));
        assert!(!circuit.admits(now + LONGEST + 99 * MILLI));
        assert!(circuit.admits(now + LONGEST + 100 * MILLI));
    }
}
