//! A subscriber that takes some events, and no spans.

use tracing::{
    Event, Metadata, Subscriber,
    level_filters::LevelFilter,
    span::{Attributes, Id, Record},
};

/// Hands each event of some call sites to a function.
pub(crate) struct EventSink<F> {
    /// The least important level that is wanted.
    pub(crate) level: LevelFilter,
    /// The target that is wanted; `None` for all.
    pub(crate) target: Option<&'static str>,
    pub(crate) take: F,
}

impl<F: Fn(&Event<'_>) + 'static> Subscriber for EventSink<F> {
    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
            && *metadata.level() <= self.level
            && self.target.is_none_or(|target| target == metadata.target())
    }

    fn event(&self, event: &Event<'_>) {
        (self.take)(event);
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}
