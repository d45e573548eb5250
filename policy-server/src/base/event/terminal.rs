//! Events on the terminal of a developer whose program has no `tracing` subscriber.

use std::{
    fmt::{Debug, Write as _},
    io::{self, Write as _},
    sync::OnceLock,
};

use tracing::{
    Dispatch, Event,
    dispatcher::{get_default, has_been_set, with_default},
    field::{Field, Visit},
    level_filters::LevelFilter,
    subscriber::NoSubscriber,
};

use super::sink::EventSink;
use crate::base::{clock::Clock, escape::printable};

static TERMINAL: OnceLock<Dispatch> = OnceLock::new();

/// From now on, errors and warnings are printed to stderr, unless the program has a subscriber.
pub(crate) fn print_events() {
    if !has_been_set() {
        let sink = EventSink { level: LevelFilter::WARN, target: None, take: print };
        TERMINAL.get_or_init(|| Dispatch::new(sink));
    }
}

/// Logs an event, which is printed if no subscriber receives it.
pub(crate) fn emit(event: impl FnOnce()) {
    match TERMINAL.get() {
        Some(terminal) if get_default(Dispatch::is::<NoSubscriber>) => {
            with_default(terminal, event);
        }
        _ => event(),
    }
}

/// Prints an event on one line: time, level, code, message, other fields.
fn print(event: &Event<'_>) {
    let seconds = Clock::system().now().seconds() % (24 * 60 * 60);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut line = Line::default();
    event.record(&mut line);
    let Line { code, message, fields } = line;
    let level = event.metadata().level();
    // If stderr is closed, there is nowhere to report it.
    let _ = writeln!(
        io::stderr(),
        "{hour:02}:{minute:02}:{second:02}Z {level} {code}: {message}{fields}"
    );
}

#[derive(Default)]
struct Line {
    code: String,
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        let value = printable(value);
        match field.name() {
            "code" => self.code = value,
            "message" => self.message = value,
            name => {
                // Writing to a `String` does not fail.
                let _ = write!(self.fields, " {name}={value}");
            }
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
