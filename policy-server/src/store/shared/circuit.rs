//! A circuit breaker for a server that does not respond.

use std::{
    collections::BTreeMap,
    fmt::Display,
    sync::{
        Mutex,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::base::{
    event::{
        count::{Count, count},
        log,
    },
    locks::lock,
};

/// Consecutive failures that open the circuit. A single one may be a broken connection.
const FAILURES: u32 = 3;

/// Time between two attempts: exponential with 50 % jitter.
const MIN_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// How many circuits of each kind are open. Metrics have one gauge for all databases of a kind.
static OPEN: Mutex<BTreeMap<&'static str, usize>> = Mutex::new(BTreeMap::new());

/// Refuses calls while a server is away, so that no request waits for it, and admits one attempt from time to
/// time. The jitter keeps instances from trying at the same moment.
#[derive(Debug)]
pub(in crate::store) struct Circuit {
    /// The kind of the server, as a value of an attribute of metrics.
    store: &'static str,
    /// How often the circuit opened or closed. It is open if this is odd.
    changes: AtomicU64,
    /// Consecutive failures while the circuit is closed.
    failures: AtomicU32,
    attempts: Mutex<Attempts>,
}

#[derive(Debug, Default)]
struct Attempts {
    /// The time between the last two attempts.
    pause: Duration,
    next: Option<Instant>,
}

/// A call that was admitted. Its outcome counts only if the circuit has not opened or closed since: when a
/// server goes away, all pending calls fail, some of them after it is back.
#[derive(Debug)]
pub(in crate::store) struct Admission {
    changes: u64,
    begun: Instant,
}

impl Admission {
    /// Whether other calls are refused.
    #[cfg(feature = "postgres")]
    pub(in crate::store) fn is_attempt(&self) -> bool {
        is_open(self.changes)
    }
}

impl Circuit {
    pub(in crate::store) fn new(store: &'static str) -> Self {
        Self {
            store,
            changes: AtomicU64::new(0),
            failures: AtomicU32::new(0),
            attempts: Mutex::default(),
        }
    }

    /// Whether calls are refused.
    pub(in crate::store) fn is_open(&self) -> bool {
        is_open(self.changes.load(Ordering::Acquire))
    }

    /// Whether this call may go to the server.
    pub(in crate::store) fn admits(&self, now: Instant) -> Option<Admission> {
        self.admits_at(now, random())
    }

    /// `random` is between 0 and 1.
    fn admits_at(&self, now: Instant, random: f64) -> Option<Admission> {
        let changes = self.changes.load(Ordering::Acquire);
        if !is_open(changes) {
            return Some(Admission { changes, begun: now });
        }
        let mut attempts = lock(&self.attempts);
        if attempts.next.is_some_and(|next| now < next) {
            return None;
        }
        attempts.pause_from(now, random);
        Some(Admission { changes, begun: now })
    }

    /// Records and counts the outcome of a call; `failure` if the server failed. Logs when the server goes away and when it
    /// is back.
    pub(in crate::store) fn record(&self, admission: &Admission, failure: Option<&dyn Display>) {
        let Self { store, .. } = *self;
        let is_failed = failure.is_some();
        count(Count::StoreCall { store, begun: admission.begun, is_failed });
        match failure {
            Some(error) if self.record_failure(admission, Instant::now(), random()) => {
                log!(StoreAway, %error);
            }
            None if self.record_success() => log!(StoreBack),
            _ => (),
        }
    }

    /// Counts a failed call that says nothing about the server: the circuit stays as it is.
    #[cfg(feature = "redis")]
    pub(in crate::store) fn record_unclear(&self, admission: &Admission) {
        count(Count::StoreCall { store: self.store, begun: admission.begun, is_failed: true });
    }

    /// Records a success. Returns whether this closed the circuit.
    fn record_success(&self) -> bool {
        // Successful calls write to shared memory only after a failure.
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
        if !self.is_open() {
            return false;
        }
        let mut attempts = lock(&self.attempts);
        if !self.is_open() {
            return false;
        }
        *attempts = Attempts::default();
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.count_change(false);
        true
    }

    /// Records a failure. Returns whether this opened the circuit.
    fn record_failure(&self, admission: &Admission, now: Instant, random: f64) -> bool {
        let Admission { changes, .. } = *admission;
        let mut attempts = lock(&self.attempts);
        if is_open(changes) || changes != self.changes.load(Ordering::Acquire) {
            return false;
        }
        if self.failures.fetch_add(1, Ordering::Relaxed) + 1 < FAILURES {
            return false;
        }
        self.failures.store(0, Ordering::Relaxed);
        attempts.pause_from(now, random);
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.count_change(true);
        true
    }

    /// Counts whether a circuit of this kind is open, after this one has opened or closed.
    fn count_change(&self, is_open: bool) {
        let mut all = lock(&OPEN);
        let open = all.entry(self.store).or_default();
        *open = if is_open { *open + 1 } else { open.saturating_sub(1) };
        // Before another circuit changes the number.
        count(Count::Circuit { store: self.store, is_open: *open > 0 });
    }
}

/// A store that is no longer used is not away.
impl Drop for Circuit {
    fn drop(&mut self) {
        if self.is_open() {
            self.count_change(false);
        }
    }
}

impl Attempts {
    /// Schedules the next attempt, which does not depend on the end of this one.
    fn pause_from(&mut self, now: Instant, random: f64) {
        self.pause = (self.pause * 2).clamp(MIN_PAUSE, MAX_PAUSE);
        self.next = Some(now + self.pause.mul_f64(0.5 + random.clamp(0.0, 1.0)));
    }
}

fn is_open(changes: u64) -> bool {
    changes % 2 == 1
}

/// Between 0 and 1.
pub(in crate::store) fn random() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    (RandomState::new().hash_one(()) % 1000) as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    impl Circuit {
        fn fails(&self, now: Instant) -> bool {
            self.record_failure(&self.admits_at(now, 0.5).expect("an admission"), now, 0.5)
        }

        fn new_open(now: Instant) -> Self {
            let circuit = Self::new("test");
            assert_eq!([(); 3].map(|()| circuit.fails(now)), [false, false, true]);
            circuit
        }
    }

    #[test]
    fn one_failure_refuses_nothing_and_three_in_a_row_do() {
        let (circuit, now) = (Circuit::new("test"), Instant::now());
        for _ in 0..5 {
            assert!(!circuit.fails(now));
            assert!(!circuit.fails(now));
            assert!(!circuit.record_success());
        }
        assert!(!circuit.fails(now) && !circuit.fails(now));
        assert!(circuit.fails(now), "it opens once");
        assert!(circuit.is_open() && circuit.admits_at(now, 0.5).is_none());
    }

    #[test]
    fn while_it_is_open_one_call_passes_at_growing_intervals() {
        let mut now = Instant::now();
        let circuit = Circuit::new_open(now);
        let mut pauses = vec![];
        for _ in 0..8 {
            let begun = now;
            while circuit.admits_at(now, 0.5).is_none() {
                now += MILLI;
            }
            pauses.push((now - begun).as_millis());
            // No second one meanwhile.
            assert!(circuit.admits_at(now, 0.5).is_none());
        }
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 2000, 2000, 2000]);
        assert!(circuit.record_success() && !circuit.is_open());
        // And it begins at the shortest again.
        let call = || circuit.admits_at(now, 0.5).unwrap();
        for call in [call(), call(), call()] {
            circuit.record_failure(&call, now, 0.0);
        }
        assert!(circuit.admits_at(now + 49 * MILLI, 0.5).is_none());
        assert!(circuit.admits_at(now + 50 * MILLI, 0.5).is_some());
    }

    #[cfg(feature = "metrics")]
    #[test]
    fn a_kind_of_databases_is_away_while_one_of_them_is() {
        use std::sync::{Arc, atomic::AtomicBool};

        use crate::base::event::count::{Counts, subscribe};

        #[derive(Default)]
        struct Gauge(AtomicBool);

        impl Counts for Gauge {
            fn count(&self, count: &Count) {
                if let Count::Circuit { store: "twins", is_open } = *count {
                    self.0.store(is_open, Ordering::SeqCst);
                }
            }
        }

        let gauge = Arc::new(Gauge::default());
        let counts: Arc<dyn Counts> = Arc::<Gauge>::clone(&gauge);
        subscribe(&counts);
        let is_away = || gauge.0.load(Ordering::SeqCst);
        let now = Instant::now();
        let [one, other] = [(); 2].map(|()| Circuit::new("twins"));
        for circuit in [&one, &other] {
            assert!([(); 3].map(|()| circuit.fails(now)).contains(&true));
        }
        assert!(other.record_success() && is_away());
        drop(one);
        assert!(!is_away(), "the other one is back, and this one is no longer used");
    }

    /// All calls in flight fail together, and some of them after the server is back.
    #[test]
    fn calls_from_before_the_outage_neither_prolong_it_nor_begin_another() {
        let (circuit, now) = (Circuit::new("test"), Instant::now());
        let calls = [(); 20].map(|()| circuit.admits_at(now, 0.5).unwrap());
        let opened = calls.iter().filter(|call| circuit.record_failure(call, now, 0.5)).count();
        assert_eq!(opened, 1);
        let attempt = circuit.admits_at(now + 100 * MILLI, 0.5).expect("the first attempt");
        assert!(circuit.record_success());
        for call in calls.iter().chain([&attempt]) {
            assert!(!circuit.record_failure(call, now, 0.5) && !circuit.is_open());
        }
    }
}
