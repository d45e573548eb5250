//! What became of all requests.

use std::{
    fmt,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

#[derive(Debug, Default)]
pub(crate) struct Tally {
    answered: AtomicUsize,
    connections: AtomicUsize,
    /// Sent again, since the connection ended without an answer, and might be.
    repeated: AtomicUsize,
    /// Without an answer, and nobody knows whether it was done.
    unknown: AtomicUsize,
    is_over: AtomicBool,
}

impl Tally {
    pub(crate) fn answered(&self) {
        self.answered.fetch_add(1, Relaxed);
    }

    pub(crate) fn connected(&self) {
        self.connections.fetch_add(1, Relaxed);
    }

    pub(crate) fn repeated(&self) {
        self.repeated.fetch_add(1, Relaxed);
    }

    pub(crate) fn unknown(&self) {
        self.unknown.fetch_add(1, Relaxed);
    }

    pub(crate) fn count(&self) -> usize {
        self.answered.load(Relaxed)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Relaxed)
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Relaxed)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answered, connections, repeated, unknown, .. } = self;
        let all = [answered, connections, repeated, unknown].map(|count| count.load(Relaxed));
        let [answered, connections, repeated, unknown] = all;
        write!(
            f,
            "{answered} answers over {connections} connections, {repeated} requests repeated, \
             {unknown} that may not be"
        )
    }
}
