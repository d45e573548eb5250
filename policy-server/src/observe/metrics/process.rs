//! What the process counts beside requests.

use std::sync::{Arc, Mutex, Weak};

use metrics::{Counter, Gauge, Histogram, Recorder};
use policy_core::Event;

use super::names::{self, OTHER};
use crate::{
    base::{
        event::count::{Count, Counts},
        locks::lock,
    },
    route::limits::RateLimit,
};

/// One handle for each of the few values of an attribute.
struct HandlesByValue<T>(Vec<(&'static str, T)>);

impl<T> HandlesByValue<T> {
    fn new(values: &[&'static str], handle: impl Fn(&'static str) -> T) -> Self {
        Self(values.iter().map(|value| (*value, handle(value))).collect())
    }

    /// Calls a function with the handle of a value; all values are known.
    fn with(&self, value: &str, then: impl FnOnce(&T)) {
        if let Some((_, handle)) = self.0.iter().find(|(one, _)| *one == value) {
            then(handle);
        }
    }
}

/// Handles for both outcomes of one thing.
type Both<T> = HandlesByValue<[T; 2]>;

pub(crate) struct Process {
    events: Vec<Counter>,
    logins: HandlesByValue<Counter>,
    renewals: Counter,
    sessions: Gauge,
    revocations: HandlesByValue<Counter>,
    refreshes: HandlesByValue<Counter>,
    rates: HandlesByValue<Counter>,
    /// The rate tables of all apps with this recorder.
    rate_tables: Mutex<Vec<Weak<RateLimit>>>,
    /// How full the fullest of them is.
    rate_fill: Gauge,
    reloads: Both<Counter>,
    /// Calls that succeeded, and those that failed.
    store_calls: Both<Histogram>,
    circuits: HandlesByValue<Gauge>,
    handshakes: Counter,
    abandoned: Counter,
}

/// The stores whose calls take time.
const STORES: &[&str] = &[
    #[cfg(feature = "embedded")]
    "embedded",
    #[cfg(feature = "postgres")]
    "postgres",
    #[cfg(feature = "redis")]
    "redis",
];
/// The stores on other servers, which may be unavailable.
const DATABASES: &[&str] = &[
    #[cfg(feature = "postgres")]
    "postgres",
    #[cfg(feature = "redis")]
    "redis",
];
const DECISIONS: [&str; 2] = ["granted", "refused"];

impl Process {
    pub(super) fn new(to: &dyn Recorder) -> Self {
        Self {
            events: Event::ALL
                .iter()
                .map(|event| names::EVENTS.counter(to, &[(names::CODE, event.code())]))
                .collect(),
            logins: HandlesByValue::new(&["session", "token"], |credential| {
                names::LOGINS.counter(to, &[(names::CREDENTIAL, credential)])
            }),
            renewals: names::RENEWALS.counter(to, &[]),
            sessions: names::SESSIONS.gauge(to, &[]),
            revocations: HandlesByValue::new(
                &[
                    "session",
                    "sessions_of_user",
                    "all_sessions",
                    "token",
                    "tokens_of_session",
                    "tokens_of_user",
                    "all_tokens",
                ],
                |object| names::REVOCATIONS.counter(to, &[(names::OBJECT, object)]),
            ),
            refreshes: HandlesByValue::new(
                &["granted", "repeated", "reused", "refused"],
                |outcome| names::REFRESHES.counter(to, &[(names::OUTCOME, outcome)]),
            ),
            rates: HandlesByValue::new(&DECISIONS, |outcome| {
                names::RATES.counter(to, &[(names::OUTCOME, outcome)])
            }),
            rate_tables: Mutex::default(),
            rate_fill: names::RATE_FILL.gauge(to, &[]),
            reloads: HandlesByValue::new(&["certificate", "origins", "token_keys"], |object| {
                ["applied", "kept"].map(|outcome| {
                    let attributes = [(names::OBJECT, object), (names::OUTCOME, outcome)];
                    names::RELOADS.counter(to, &attributes)
                })
            }),
            store_calls: HandlesByValue::new(STORES, |store| {
                ["", OTHER].map(|error| {
                    let attributes = [(names::STORE, store), (names::ERROR, error)];
                    names::STORE_CALLS.histogram(to, &attributes)
                })
            }),
            circuits: HandlesByValue::new(DATABASES, |store| {
                names::CIRCUIT.gauge(to, &[(names::STORE, store)])
            }),
            handshakes: names::HANDSHAKES.counter(to, &[]),
            abandoned: names::ABANDONED.counter(to, &[]),
        }
    }

    /// Adds the tables of an app, for as long as it exists.
    pub(super) fn add_rates(&self, rates: &[Arc<RateLimit>]) {
        let mut tables = lock(&self.rate_tables);
        tables.extend(rates.iter().map(Arc::downgrade));
    }

    /// Records how full the fullest table is.
    pub(super) fn record_rates(&self) {
        let mut tables = lock(&self.rate_tables);
        tables.retain(|table| table.strong_count() > 0);
        let rates = tables.iter().filter_map(Weak::upgrade);
        self.rate_fill.set(rates.map(|rate| rate.utilization()).fold(0.0, f64::max));
    }
}

impl Counts for Process {
    fn count(&self, count: &Count) {
        match *count {
            Count::Event(event) => {
                if let Some(counter) = self.events.get(event as usize) {
                    counter.increment(1);
                }
            }
            Count::Login(credential) => self.logins.with(credential, |all| all.increment(1)),
            Count::Renewal => self.renewals.increment(1),
            Count::Revocation(object) => self.revocations.with(object, |all| all.increment(1)),
            Count::Refresh(outcome) => self.refreshes.with(outcome, |all| all.increment(1)),
            Count::Rate { is_granted } => {
                let [granted, refused] = DECISIONS;
                let outcome = if is_granted { granted } else { refused };
                self.rates.with(outcome, |all| all.increment(1));
            }
            Count::Reload { of, is_applied } => self.reloads.with(of, |[applied, kept]| {
                if is_applied { applied } else { kept }.increment(1);
            }),
            Count::StoreCall { store, begun, is_failed } => {
                self.store_calls.with(store, |[done, failed]| {
                    if is_failed { failed } else { done }.record(begun.elapsed().as_secs_f64());
                });
            }
            Count::Circuit { store, is_open } => {
                self.circuits.with(store, |all| all.set(f64::from(u8::from(is_open))));
            }
            Count::Sessions(count) => self.sessions.set(count as f64),
            Count::HandshakeFailed => self.handshakes.increment(1),
            Count::Abandoned => self.abandoned.increment(1),
        }
    }
}
