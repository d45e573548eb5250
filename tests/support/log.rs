//! Keeps what `tracing` records, for a test.
//!
//! `tracing` caches for each call site whether a subscriber is interested, and asks when the site
//! is first reached, on any thread. A subscriber per test thread would miss every site that another
//! test reached first. So one subscriber listens for the whole process and forwards to the log of
//! the current thread.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fmt::{Debug, Write as _},
    io::Write as _,
    sync::{Arc, Mutex, MutexGuard, Once},
};

use tokio::sync::Notify;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::{Interest, set_global_default},
};
use tracing_core::{callsite::rebuild_interest_cache, span::Current};

thread_local! {
    static LISTENING: RefCell<Option<Log>> = const { RefCell::new(None) };
}

/// Everything recorded on this thread since the log began: events as `LEVEL name=value ..`, spans
/// as `span name=value ..` with the fields that were recorded later.
#[derive(Clone)]
pub struct Log {
    state: Arc<Mutex<LogState>>,
    /// Wakes waiting tests when something is recorded.
    changed: Arc<Notify>,
    /// The prefix of the targets that are kept.
    target: &'static str,
}

#[derive(Default)]
struct LogState {
    lines: Vec<String>,
    /// The spans that are entered, outermost first.
    entered: Vec<Id>,
    /// The spans, by the index of their line.
    spans: BTreeMap<u64, &'static Metadata<'static>>,
}

/// Ends the log when it is dropped.
pub struct Guard(());

/// Sets the subscriber of the process. Everything that starts a server calls this first, so that no
/// call site is registered before.
pub fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| set_global_default(ThreadSubscriber).expect("no other subscriber"));
}

/// In a separate server process: prints the events whose code has this prefix to stderr, where its
/// test reads them.
pub fn print(code: &'static str) {
    set_global_default(Printing { code }).expect("no other subscriber");
}

impl Log {
    /// Begins a log of the targets with this prefix.
    pub fn start(target: &'static str) -> (Self, Guard) {
        listen();
        rebuild_interest_cache();
        let log = Self { state: Arc::default(), changed: Arc::default(), target };
        LISTENING.set(Some(log.clone()));
        (log, Guard(()))
    }

    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().expect("a log")
    }

    /// The lines of events with this code.
    pub fn with_code(&self, code: &str) -> Vec<String> {
        self.with(&format!(" code=\"{code}\""))
    }

    /// Waits until something that is looked for was recorded, as [`soon`](crate::http::soon) does.
    #[track_caller]
    pub fn until<T>(&self, look: impl Fn(&Self) -> Option<T>) -> impl Future<Output = T> {
        let log = self.clone();
        crate::http::soon(async move {
            loop {
                // Registers before the check, so that no event in between is missed.
                let changed = log.changed.notified();
                if let Some(found) = look(&log) {
                    return found;
                }
                changed.await;
            }
        })
    }

    /// The lines that contain a text.
    pub fn with(&self, what: &str) -> Vec<String> {
        self.lock().lines.iter().filter(|line| line.contains(what)).cloned().collect()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        LISTENING.set(None);
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").expect("a text");
    }
}

/// Prints events of any thread, each on a line.
struct Printing {
    code: &'static str,
}

impl Subscriber for Printing {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target().starts_with("policy_server")
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        unreachable!("no span is enabled")
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        if line.0.contains(&format!(" code=\"{}", self.code)) {
            writeln!(std::io::stderr(), "{}", line.0.replace('\n', " ")).expect("stderr");
        }
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// Forwards everything to the log of the thread, if there is one.
struct ThreadSubscriber;

impl ThreadSubscriber {
    fn update<T>(tell: impl FnOnce(&mut LogState) -> T) -> Option<T> {
        LISTENING.with_borrow(|log| {
            let log = log.as_ref()?;
            let result = tell(&mut log.lock());
            log.changed.notify_waiters();
            Some(result)
        })
    }
}

impl Subscriber for ThreadSubscriber {
    fn register_callsite(&self, _metadata: &'static Metadata<'static>) -> Interest {
        // Whether there is interest depends on the thread.
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        LISTENING.with_borrow(|log| {
            log.as_ref().is_some_and(|log| metadata.target().starts_with(log.target))
        })
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(span.metadata().name().to_owned());
        span.record(&mut line);
        let id = Self::update(|state| {
            state.lines.push(line.0);
            let id = state.lines.len() as u64;
            state.spans.insert(id, span.metadata());
            id
        });
        Id::from_u64(id.expect("a log, since the span is enabled"))
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        Self::update(|state| {
            let index = usize::try_from(span.into_u64()).expect("an index") - 1;
            let mut line = Line(std::mem::take(&mut state.lines[index]));
            values.record(&mut line);
            state.lines[index] = line.0;
        });
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        Self::update(|state| state.lines.push(line.0));
    }

    fn enter(&self, span: &Id) {
        Self::update(|state| state.entered.push(span.clone()));
    }

    fn exit(&self, _span: &Id) {
        Self::update(|state| state.entered.pop());
    }

    fn current_span(&self) -> Current {
        let current = Self::update(|state| {
            let id = state.entered.last()?;
            Some(Current::new(id.clone(), state.spans[&id.into_u64()]))
        });
        current.flatten().unwrap_or_else(Current::none)
    }
}
