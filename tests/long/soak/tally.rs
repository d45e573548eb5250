//! Counts how requests ended.

use std::{
    fmt,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) answered: AtomicUsize,
    pub(crate) connections: AtomicUsize,
    /// Repeated, since the connection ended without a response and their method allows it.
    pub(crate) repeated: AtomicUsize,
    /// Without a response, so that it is unknown whether they were processed.
    pub(crate) unknown: AtomicUsize,
    /// Proxied while the upstream was down.
    pub(crate) without_upstream: AtomicUsize,
    /// Incremented with each change; odd while the upstream is down.
    upstream_changes: AtomicUsize,
    pub(crate) is_over: AtomicBool,
}

impl Tally {
    pub(crate) fn upstream_is(&self, is_there: bool) {
        let changes = self.upstream_changes.fetch_add(1, Relaxed);
        assert_eq!(changes % 2 == 1, is_there);
    }

    /// A mark for [`had_upstream_since`](Self::had_upstream_since).
    pub(crate) fn upstream_changes(&self) -> usize {
        self.upstream_changes.load(Relaxed)
    }

    /// Whether the upstream was up all the time since this mark.
    pub(crate) fn had_upstream_since(&self, changes: usize) -> bool {
        changes.is_multiple_of(2) && self.upstream_changes() == changes
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answered, connections, repeated, unknown, without_upstream, .. } = self;
        let all = [answered, connections, repeated, unknown, without_upstream];
        let [answered, connections, repeated, unknown, without] =
            all.map(|count| count.load(Relaxed));
        write!(
            f,
            "{answered} answers over {connections} connections, {repeated} requests repeated, \
             {unknown} that may not be, {without} without an upstream"
        )
    }
}
