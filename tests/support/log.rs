//! What is said by `tracing`, kept for a test.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::{
    collections::BTreeMap,
    fmt::{Debug, Write},
    sync::{Arc, Mutex, MutexGuard},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::{DefaultGuard, set_default},
};
use tracing_core::span::Current;

/// What was said since it began, on this thread: events as `LEVEL name=value ..`, spans as
/// `span name=value ..` with all that was recorded later.
#[derive(Clone)]
pub(crate) struct Log {
    said: Arc<Mutex<Said>>,
    /// What the targets begin with that are listened to.
    target: &'static str,
}

#[derive(Default)]
struct Said {
    lines: Vec<String>,
    /// The spans that are entered, from the outside in.
    entered: Vec<Id>,
    /// The spans, by their lines.
    spans: BTreeMap<u64, &'static Metadata<'static>>,
}

impl Log {
    /// Listens to targets that begin so.
    pub(crate) fn of(target: &'static str) -> (Self, DefaultGuard) {
        let log = Self { said: Arc::default(), target };
        (log.clone(), set_default(log))
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().expect("a log")
    }

    /// The lines that contain this.
    pub(crate) fn with(&self, what: &str) -> Vec<String> {
        self.said().lines.iter().filter(|line| line.contains(what)).cloned().collect()
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").expect("a text");
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with(self.target)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(span.metadata().name().to_owned());
        span.record(&mut line);
        let mut said = self.said();
        said.lines.push(line.0);
        let id = said.lines.len() as u64;
        said.spans.insert(id, span.metadata());
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut said = self.said();
        let index = usize::try_from(span.into_u64()).expect("an index") - 1;
        let mut line = Line(std::mem::take(&mut said.lines[index]));
        values.record(&mut line);
        said.lines[index] = line.0;
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.said().lines.push(line.0);
    }

    fn enter(&self, span: &Id) {
        self.said().entered.push(span.clone());
    }

    fn exit(&self, _span: &Id) {
        self.said().entered.pop();
    }

    fn current_span(&self) -> Current {
        let said = self.said();
        let current = said.entered.last();
        current
            .map_or_else(Current::none, |id| Current::new(id.clone(), said.spans[&id.into_u64()]))
    }
}
