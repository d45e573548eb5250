//! The series of the recorder: found once by name and attributes, then shared.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, atomic::Ordering::Relaxed},
};

use metrics::{Key, Unit, atomics::AtomicU64};

use super::{exposition, instruments::Buckets};
use crate::base::locks::lock;

/// The default maximum number of series that a recorder keeps.
const MAX_SERIES: usize = 20_000;

/// All series, in memory of bounded size.
pub(super) struct Registry {
    state: Mutex<State>,
    /// How often a series was not registered. The macros of the facade register it at each call.
    pub(super) dropped: AtomicU64,
}

pub(super) struct State {
    /// By the names of the facade.
    pub(super) families: BTreeMap<String, Family>,
    described: HashMap<String, (Option<Unit>, String)>,
    /// The names of all samples, which two families must not share.
    taken: HashSet<String>,
    /// The names of the labels that every series has.
    labels: Vec<String>,
    series: usize,
    max_series: usize,
}

/// The series of one name.
pub(super) struct Family {
    /// The name with its unit, in the characters of OpenMetrics.
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) unit: Option<&'static str>,
    pub(super) about: String,
    /// By their attributes, as they are written.
    pub(super) series: BTreeMap<String, Instrument>,
    of_unit: Option<Unit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Clone)]
pub(super) enum Instrument {
    Number(Arc<AtomicU64>),
    Histogram(Arc<Buckets>),
}

impl Default for Registry {
    fn default() -> Self {
        let state = State {
            families: BTreeMap::new(),
            described: HashMap::new(),
            taken: exposition::OWN.map(str::to_owned).into(),
            labels: Vec::new(),
            series: 0,
            max_series: MAX_SERIES,
        };
        Self { state: Mutex::new(state), dropped: AtomicU64::new(0) }
    }
}

impl Registry {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn set_max_series(&self, max: usize) {
        self.state().max_series = max;
    }

    /// Reserves the name of a label that every series has.
    pub(super) fn take_label(&self, name: String) {
        self.state().labels.push(name);
    }

    /// States the unit and the text of the series with this name, before the first of them.
    pub(super) fn describe(&self, name: &str, unit: Option<Unit>, about: &str) {
        let mut state = self.state();
        if state.described.len() < state.max_series {
            state.described.insert(name.to_owned(), (unit, about.to_owned()));
        }
    }

    /// The instrument of a series. `None` if there is no room for it, or if OpenMetrics has no name for it
    /// or could not tell it from another one.
    pub(super) fn instrument(&self, kind: Kind, key: &Key) -> Option<Instrument> {
        let instrument = self.state().instrument(kind, key);
        if instrument.is_none() {
            self.dropped.fetch_add(1, Relaxed);
        }
        instrument
    }
}

impl State {
    fn instrument(&mut self, kind: Kind, key: &Key) -> Option<Instrument> {
        let labels = exposition::labels(key, &self.labels)?;
        let has_room = self.series < self.max_series;
        if let Some(family) = self.families.get_mut(key.name()) {
            if family.kind != kind {
                return None;
            }
            return match family.series.get(&labels) {
                Some(instrument) => Some(instrument.clone()),
                None if has_room => {
                    self.series += 1;
                    Some(family.add(labels))
                }
                None => None,
            };
        }
        let (of_unit, about) = self.described.get(key.name()).cloned().unwrap_or_default();
        let unit = of_unit.and_then(exposition::unit);
        let name = exposition::name(key.name(), unit);
        let samples = exposition::samples(kind, &name);
        let is_taken = samples.iter().any(|sample| self.taken.contains(sample));
        if !has_room || name.is_empty() || is_taken {
            return None;
        }
        self.taken.extend(samples);
        self.series += 1;
        let mut family = Family { name, kind, unit, about, series: BTreeMap::new(), of_unit };
        let instrument = family.add(labels);
        self.families.insert(key.name().to_owned(), family);
        Some(instrument)
    }
}

impl Family {
    fn add(&mut self, labels: String) -> Instrument {
        let instrument = match self.kind {
            Kind::Counter | Kind::Gauge => Instrument::Number(Arc::default()),
            Kind::Histogram => Instrument::Histogram(Arc::new(Buckets::for_unit(self.of_unit))),
        };
        self.series.insert(labels, instrument.clone());
        instrument
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("series", &self.state().series).finish_non_exhaustive()
    }
}
