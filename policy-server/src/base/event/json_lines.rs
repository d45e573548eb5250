//! Events of one target as lines of JSON.

use std::{
    fmt::Debug,
    io::{self, Write},
    sync::{Arc, Mutex},
    time::Instant,
};

use serde::ser::{SerializeMap, Serializer};
use serde_json::ser::Compound;
use tracing::{
    Dispatch, Event,
    dispatcher::with_default,
    field::{Field, Visit},
    level_filters::LevelFilter,
};

use super::{log, sink::EventSink};
use crate::base::{clock::Clock, locks::lock, log::LineLimit};

/// Writes the events of one target, each as an object on a line: the time, then its fields.
#[derive(Clone, Debug)]
pub(crate) struct JsonLines(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dispatch: Dispatch,
    /// The error of the last line. It is logged later, since no event can be emitted within another.
    failed: Arc<Mutex<Option<io::Error>>>,
    failures: LineLimit,
}

impl JsonLines {
    pub(crate) fn new(target: &'static str, output: impl Write + Send + 'static) -> Self {
        let (output, failed) = (Mutex::new(output), Arc::new(Mutex::default()));
        let failures = Arc::clone(&failed);
        let take = move |event: &Event<'_>| {
            let written = line(event).map_err(io::Error::from).and_then(|line| {
                // One write, so that lines of several processes do not mix.
                lock(&output).write_all(&line)
            });
            if let Err(error) = written {
                *lock(&failures) = Some(error);
            }
        };
        let sink = EventSink { level: LevelFilter::INFO, target: Some(target), take };
        let dispatch = Dispatch::new(sink);
        Self(Arc::new(Inner { dispatch, failed, failures: LineLimit::default() }))
    }

    /// Writes the event that `emit` emits. No other subscriber gets it.
    pub(crate) fn write(&self, emit: impl FnOnce()) {
        let Inner { dispatch, failed, failures } = &*self.0;
        with_default(dispatch, emit);
        let error = lock(failed).take();
        if let Some(error) = error
            && let Some(suppressed) = failures.admit(Instant::now())
        {
            log!(AccessLogFailed, %error, suppressed);
        }
    }
}

fn line(event: &Event<'_>) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(512);
    let mut serializer = serde_json::Serializer::new(&mut text);
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("timestamp", &Clock::system().now().rfc3339())?;
    let mut fields = Fields { map, result: Ok(()) };
    event.record(&mut fields);
    fields.result?;
    fields.map.end()?;
    text.push(b'\n');
    Ok(text)
}

/// The fields of an event, as they are written.
struct Fields<'a> {
    map: Compound<'a, &'a mut Vec<u8>, serde_json::ser::CompactFormatter>,
    result: serde_json::Result<()>,
}

impl Fields<'_> {
    fn field(&mut self, field: &Field, value: impl serde::Serialize) {
        if self.result.is_ok() {
            self.result = self.map.serialize_entry(field.name(), &value);
        }
    }
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.field(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.field(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.field(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.field(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.field(field, format_args!("{value:?}"));
    }
}
