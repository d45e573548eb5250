//! How often a candidate would have decided differently.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use http::Method;

use crate::base::locks::lock;

/// The number of responses that a candidate was compared with. A request whose client disconnected
/// before the response is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// It would have decided the same.
    pub agreed: u64,
    /// It would have decided differently.
    pub differed: u64,
    /// The decision is unknown: the candidate requires a credential that the policy in force does not
    /// check, or the cause is in no manifest (a rate or a permit, a body that could not be read).
    pub undecided: u64,
}

/// Something that would differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The path template of the route that served the request, or else of the candidate's route.
    pub route: Option<Arc<str>>,
    /// The method of the request; `None` if no standard defines it.
    pub method: Option<Method>,
    /// The outcome of the request: `reached` if its handler, mounted service or upstream received it,
    /// `preflight`, `automatic` for an automatic response of the server, or the code of a refusal.
    pub decided: &'static str,
    /// What the candidate would have decided; `undecided` if it is only known to differ.
    pub candidate: &'static str,
    /// The CORS headers that the response of the candidate would have in addition (`+`), not have (`-`)
    /// or have with another value (`~`), separated by spaces.
    pub fields: Box<str>,
    /// The number of such requests.
    pub count: u64,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { route, method, decided, candidate, fields, count } = self;
        let method = method.as_ref().map_or("another method", Method::as_str);
        let route = route.as_deref().unwrap_or("no route");
        write!(f, "{method} {route}: `{decided}`, and `{candidate}` by the candidate")?;
        if !fields.is_empty() {
            write!(f, " ({fields})")?;
        }
        write!(f, ", {count} {}", if *count == 1 { "time" } else { "times" })
    }
}

/// The requests that are counted together. All values are from the two policies and from standards,
/// so clients cannot create an unlimited number of kinds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) route: Option<Arc<str>>,
    pub(super) method: Option<Method>,
    pub(super) decided: &'static str,
    pub(super) candidate: &'static str,
    pub(super) fields: Box<str>,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) agreed: AtomicU64,
    pub(super) undecided: AtomicU64,
    differed: AtomicU64,
    kinds: Mutex<HashMap<Kind, u64>>,
}

impl Counters {
    /// Counts a difference.
    pub(super) fn differed(&self, kind: Kind) {
        self.differed.fetch_add(1, Ordering::Relaxed);
        let mut kinds = lock(&self.kinds);
        *kinds.entry(kind).or_default() += 1;
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            agreed: self.agreed.load(Ordering::Relaxed),
            differed: self.differed.load(Ordering::Relaxed),
            undecided: self.undecided.load(Ordering::Relaxed),
        }
    }

    pub(super) fn differences(&self) -> Vec<Difference> {
        let kinds = lock(&self.kinds).clone();
        let mut all: Vec<_> = kinds
            .into_iter()
            .map(|(kind, count)| {
                let Kind { route, method, decided, candidate, fields } = kind;
                Difference { route, method, decided, candidate, fields, count }
            })
            .collect();
        all.sort_by_cached_key(|one| (std::cmp::Reverse(one.count), one.to_string()));
        all
    }
}
