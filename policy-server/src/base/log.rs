//! Log lines about requests, limited in number and length.

use std::{
    borrow::Cow,
    sync::Mutex,
    time::{Duration, Instant},
};

use axum_core::response::Response;
use http::Method;
use policy_core::{Event, Refusal, head::Single};
use tracing::{Level, Span, level_filters::LevelFilter};

use super::{
    event::{conventions, json_lines::JsonLines},
    locks::lock,
    problem,
};

/// The target of the access log, by which operators filter.
pub(crate) const ACCESS: &str = "policy::access";

/// Where the entries of the access log go.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessLog {
    /// To a subscriber, as events.
    pub(crate) has_events: bool,
    pub(crate) json: Option<JsonLines>,
}

impl AccessLog {
    /// Whether the app has one.
    pub(crate) fn is_on(&self) -> bool {
        self.has_events || self.json.is_some()
    }

    /// Whether anything receives the entries.
    pub(crate) fn is_wanted(&self) -> bool {
        self.json.is_some() || self.has_events && tracing::enabled!(target: ACCESS, Level::INFO)
    }

    /// Writes an entry, which `emit` emits once.
    pub(crate) fn write(&self, emit: impl Fn()) {
        if let Some(json) = &self.json {
            json.write(&emit);
        }
        if self.has_events {
            emit();
        }
    }
}

/// Logs refused requests, at most [`PER_SECOND`](LineLimit::PER_SECOND) a second. Text from clients is
/// escaped.
#[derive(Debug, Default)]
pub(crate) struct RefusalLog {
    limit: LineLimit,
    /// The access log of the app. If it is on, its entries name refusals.
    pub(crate) access_log: AccessLog,
}

impl RefusalLog {
    /// Logs a refusal, or returns it for the entry of its response in the access log.
    pub(crate) fn log(
        &self,
        refusal: Refusal,
        why: RefusalReason<'_>,
        method: &Method,
        path: &str,
        origin: Single<'_>,
    ) -> Option<RefusalEntry> {
        if LevelFilter::current() < LevelFilter::INFO {
            return None;
        }
        Span::current().record("policy.code", refusal.code());
        if self.access_log.is_wanted() {
            return Some(RefusalEntry {
                cause: why.cause,
                detail: why.detail.map(Into::into),
                origin: cut(&origin_text(origin)).into(),
            });
        }
        let suppressed = self.limit.admit(Instant::now())?;
        let (method, original) = conventions::method(method);
        tracing::info!(
            policy.code = refusal.code(),
            http.response.status_code = refusal.status(),
            policy.cause = why.cause.map(Event::code),
            policy.detail = why.detail,
            http.request.method = method,
            http.request.method_original = original,
            url.path = %cut(path).escape_debug(),
            policy.origin = %cut(&origin_text(origin)),
            suppressed,
            "request refused"
        );
        None
    }
}

/// The reason for a refusal in the extensions of its response, for the access log.
#[derive(Clone, Debug)]
pub(crate) struct RefusalEntry {
    pub(crate) cause: Option<Event>,
    pub(crate) detail: Option<Box<str>>,
    pub(crate) origin: Box<str>,
}

impl RefusalEntry {
    /// The response with the reason for its refusal, if there is one.
    pub(crate) fn note(refused: Option<Self>, mut response: Response) -> Response {
        if let Some(refused) = refused {
            response.extensions_mut().insert(refused);
        }
        response
    }
}

/// The refusal of a response that redirects to the login page and shows no problem.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RedirectedRefusal(pub(crate) Refusal);

/// The code for logs: of the problem that a response shows, or of the refusal for which it
/// redirects to the login page.
pub(crate) fn code_for_logs(response: &Response) -> Option<Cow<'static, str>> {
    problem::code(response).or_else(|| {
        let RedirectedRefusal(refusal) = response.extensions().get::<RedirectedRefusal>()?;
        Some(Cow::Borrowed(refusal.code()))
    })
}

/// The exact reason for a refusal, which responses of a deployed app do not contain.
#[derive(Clone, Copy, Default)]
pub(crate) struct RefusalReason<'a> {
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
        let mut window = lock(&self.0);
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
