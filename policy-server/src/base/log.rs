//! Log lines about requests, limited in number and length.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use http::Method;
use policy_core::{Event, Refusal, head::Single};
use tracing::{Span, level_filters::LevelFilter};

/// Logs refused requests, at most [`PER_SECOND`](LineLimit::PER_SECOND) a second. Text from clients is
/// escaped.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog(LineLimit);

impl RefusalLog {
    pub(crate) fn refused(
        &self,
        refusal: Refusal,
        why: Why<'_>,
        method: &Method,
        path: &str,
        origin: Single<'_>,
    ) {
        if LevelFilter::current() < LevelFilter::INFO {
            return;
        }
        Span::current().record("code", refusal.code());
        let Some(suppressed) = self.0.admit(Instant::now()) else { return };
        tracing::info!(
            code = refusal.code(),
            status = refusal.status(),
            cause = why.cause.map(Event::code),
            detail = why.detail,
            %method,
            path = %cut(path).escape_debug(),
            origin = %cut(&origin_text(origin)),
            suppressed,
            "request refused"
        );
    }
}

/// The exact reason for a refusal, which responses of a deployed app do not contain.
#[derive(Clone, Copy, Default)]
pub(crate) struct Why<'a> {
    /// Its entry in the catalogue, if the refusal has several possible causes.
    pub(crate) cause: Option<Event>,
    pub(crate) detail: Option<&'a str>,
}

/// The origin of a request, escaped.
pub(crate) fn origin_text(origin: Single<'_>) -> String {
    match origin {
        Single::One(origin) => origin.as_bytes().escape_ascii().to_string(),
        Single::Absent => "none".to_owned(),
        Single::Repeated => "repeated".to_owned(),
    }
}

/// Limits the lines of one kind, so that a flood of requests does not flood the log.
#[derive(Debug, Default)]
pub(crate) struct LineLimit(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    began: Option<Instant>,
    lines: u32,
    suppressed: u64,
}

impl LineLimit {
    const PER_SECOND: u32 = 20;

    /// The number of lines omitted since the last one; `None` if this line is omitted too.
    pub(crate) fn admit(&self, now: Instant) -> Option<u64> {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |began| now.duration_since(began) >= Duration::from_secs(1);
        if window.began.is_none_or(is_over) {
            window.began = Some(now);
            window.lines = 0;
        }
        if window.lines == Self::PER_SECOND {
            window.suppressed += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.suppressed))
    }
}

/// The beginning of a text, enough to recognise it.
pub(crate) fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(256).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_is_not_a_flood_of_lines() {
        let log = LineLimit::default();
        let start = Instant::now();
        let written = (0..1000).filter(|_| log.admit(start).is_some()).count();
        assert_eq!(written, LineLimit::PER_SECOND as usize);
        assert_eq!(log.admit(start + Duration::from_secs(1)), Some(980));
    }
}
