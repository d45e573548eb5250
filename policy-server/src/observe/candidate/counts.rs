//! How often a candidate would have decided otherwise.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use http::Method;

/// How many responses a candidate was compared with. A request whose client was gone before there was a
/// response is not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// It would have decided the same.
    pub agreed: u64,
    /// It would have decided otherwise.
    pub differed: u64,
    /// It cannot be told: the candidate asks for a credential that the policy in force did not ask for,
    /// or what decided is in no manifest (a rate or a permit, a body that could not be read).
    pub undecided: u64,
}

/// Something that would differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The path template of the route that served the request; where none did, that of the candidate.
    pub route: Option<Arc<str>>,
    /// The method of the request; `None` if no standard defines it.
    pub method: Option<Method>,
    /// What became of the request: `reached` if its handler, mounted service or upstream got it,
    /// `preflight`, `automatic` for what the server responds by itself, or the code of a refusal.
    pub decided: &'static str,
    /// What the candidate would have decided; `undecided` if only what it would not is known.
    pub candidate: &'static str,
    /// The CORS headers that the response of the candidate would have more (`+`), less (`-`) or with
    /// another value (`~`), separated by spaces.
    pub fields: Box<str>,
    /// How often.
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

/// Which requests are counted together. All of it is of the two policies and of standards, so that
/// clients cannot make as many as they like.
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
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
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
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner).clone();
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
