//! `traceparent`: the trace, and the calling span.

use std::fmt;

use base16ct::{HexDisplay, lower};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::state;
use crate::head::Single;

/// The header that names the trace and the calling span (W3C Trace Context 3.2).
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The header with what tracing systems add to it (W3C Trace Context 3.3).
pub const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The header with values that travel with a trace ([W3C
/// Baggage](https://www.w3.org/TR/baggage/)).
pub const BAGGAGE: HeaderName = HeaderName::from_static("baggage");

/// Whether a header, in lower case, states which trace a request belongs to, or travels with it:
/// one of these three.
pub(crate) const fn is_trace_field(name: &str) -> bool {
    matches!(name.as_bytes(), b"traceparent" | b"tracestate" | b"baggage")
}

/// The length of version 00.
const LENGTH: usize = 55;

/// The version that this crate knows.
const VERSION: u8 = 0;

/// The invalid version (W3C Trace Context 3.2.2.1).
const INVALID_VERSION: u8 = 0xff;

/// A position in a trace: a span, which is the parent of what it calls.
///
/// ```
/// use policy_core::trace::TraceContext;
///
/// let mut headers = http::HeaderMap::new();
/// let sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// headers.insert("traceparent", sent.parse().unwrap());
/// let context = TraceContext::read(&headers).unwrap();
/// assert!(context.flags() & TraceContext::SAMPLED != 0);
/// assert_eq!(context.to_string(), sent);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    flags: u8,
    /// The members of `tracestate`, separated by commas.
    state: Box<str>,
}

impl TraceContext {
    /// The flag of a trace that the caller may have recorded (W3C Trace Context 3.2.2.5.1).
    pub const SAMPLED: u8 = 0b01;

    /// The flag of a trace whose id ends with seven random bytes (W3C Trace Context 3.2.2.5.2).
    pub const RANDOM: u8 = 0b10;

    /// A span of a trace. Unknown flags are left out. `None` if an id is zero, which stands for
    /// none.
    pub fn new(trace_id: [u8; 16], span_id: [u8; 8], flags: u8) -> Option<Self> {
        let is_valid = trace_id != [0; 16] && span_id != [0; 8];
        let flags = flags & (Self::SAMPLED | Self::RANDOM);
        is_valid.then(|| Self { trace_id, span_id, flags, state: Box::default() })
    }

    /// The same with this `tracestate`. One that breaks the grammar, or has more than 32 members,
    /// is left out as a whole; of two members with the same key, the second is left out.
    #[must_use]
    pub fn with_state(self, state: &str) -> Self {
        Self { state: state::parse([state.as_bytes()]).unwrap_or_default(), ..self }
    }

    /// What the headers of a request state. `None` if there is no `traceparent`, more than one, or one
    /// that is invalid; `tracestate` has no meaning then.
    ///
    /// A version after 00 is read like 00; additional fields are ignored.
    pub fn read(headers: &HeaderMap) -> Option<Self> {
        let Single::One(parent) = Single::read(headers, &TRACEPARENT) else { return None };
        let (known, rest) = parent.as_bytes().split_at_checked(LENGTH)?;
        let mut fields = known.split(|byte| *byte == b'-');
        let [version] = hex(fields.next())?;
        let (trace_id, span_id) = (hex(fields.next())?, hex(fields.next())?);
        let [flags] = hex(fields.next())?;
        let is_continued = match version {
            INVALID_VERSION => return None,
            VERSION => false,
            _ => rest.first() == Some(&b'-'),
        };
        if !is_continued && !rest.is_empty() {
            return None;
        }
        let state = state::parse(headers.get_all(TRACESTATE).iter().map(HeaderValue::as_bytes));
        let context = Self::new(trace_id, span_id, flags)?;
        Some(Self { state: state.unwrap_or_default(), ..context })
    }

    /// Removes `traceparent` and `tracestate` from the headers of a request.
    pub fn remove(headers: &mut HeaderMap) {
        headers.remove(TRACEPARENT);
        headers.remove(TRACESTATE);
    }

    /// Writes it into the headers of a request, in place of another.
    pub fn write(&self, headers: &mut HeaderMap) {
        Self::remove(headers);
        // Both are visible ASCII.
        if let Ok(parent) = HeaderValue::try_from(self.to_string()) {
            headers.insert(TRACEPARENT, parent);
        }
        if let Some(state) = HeaderValue::from_str(&self.state).ok().filter(|it| !it.is_empty()) {
            headers.insert(TRACESTATE, state);
        }
    }

    /// The id of the trace as lower-case hexadecimal digits, as logs have it.
    pub fn trace_id_hex(&self) -> impl fmt::Display {
        HexDisplay(&self.trace_id)
    }

    /// The id of the span, likewise.
    pub fn span_id_hex(&self) -> impl fmt::Display {
        HexDisplay(&self.span_id)
    }

    /// The id of the trace; never zero.
    pub fn trace_id(&self) -> [u8; 16] {
        self.trace_id
    }

    /// The id of the span (`parent-id`); never zero.
    pub fn span_id(&self) -> [u8; 8] {
        self.span_id
    }

    /// [`SAMPLED`](Self::SAMPLED) and [`RANDOM`](Self::RANDOM).
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// The members of `tracestate`, the latest first; empty without any.
    pub fn state(&self) -> &str {
        &self.state
    }
}

/// Writes `traceparent`, in version 00.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace, span) = (HexDisplay(&self.trace_id), HexDisplay(&self.span_id));
        write!(f, "{VERSION:02x}-{trace:x}-{span:x}-{:02x}", self.flags)
    }
}

/// Lower-case hexadecimal digits of exactly this many bytes.
fn hex<const N: usize>(digits: Option<&[u8]>) -> Option<[u8; N]> {
    let digits = digits.filter(|digits| digits.len() == 2 * N)?;
    let mut bytes = [0; N];
    lower::decode(digits, &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "12345678901234567890123456789012";
    const SPAN: &str = "1234567890123456";

    fn read(parents: &[&str], states: &[&str]) -> Option<TraceContext> {
        let mut headers = HeaderMap::new();
        for (name, lines) in [(TRACEPARENT, parents), (TRACESTATE, states)] {
            for line in lines {
                headers.append(&name, line.parse().unwrap());
            }
        }
        TraceContext::read(&headers)
    }

    /// The cases of the W3C's test suite (`trace-context/test/test.py`), and more.
    #[test]
    fn traceparent_has_one_form() {
        let ids = format!("{TRACE}-{SPAN}");
        let id_of = |of: &str| format!("00-{of}-01");
        for (parent, read_as) in [
            (format!("00-{ids}-01"), Some("01")),
            (format!("00-{ids}-00"), Some("00")),
            (format!("00-{ids}-ff"), Some("03")),
            (format!("00-{ids}-0F"), None),
            (format!("00-{ids}-.0"), None),
            (format!("00-{ids}-001"), None),
            (format!("00-{ids}-1"), None),
            (format!("00-{ids}"), None),
            (format!("00-{ids}-"), None),
            (format!("00-{ids}-01-"), None),
            (format!("00-{ids}-01."), None),
            (format!("00-{ids}-01-what-the-future-will-be-like"), None),
            (format!("cc-{ids}-01"), Some("01")),
            (format!("cc-{ids}-01-"), Some("01")),
            (format!("cc-{ids}-01-what-the-future-will-be-like"), Some("01")),
            (format!("cc-{ids}-01.what-the-future-will-be-like"), None),
            (format!("cc-{ids}-0"), None),
            (format!("ff-{ids}-01"), None),
            (format!(".0-{ids}-01"), None),
            (format!("0.-{ids}-01"), None),
            (format!("0-{ids}-01"), None),
            (format!("000-{ids}-01"), None),
            (format!("0C-{ids}-01"), None),
            (format!(" 00-{ids}-01"), None),
            (format!("00_{ids}-01"), None),
            (id_of(&format!("{}-{SPAN}", "0".repeat(32))), None),
            (id_of(&format!("{TRACE}-{}", "0".repeat(16))), None),
            (id_of(&format!("{}-{SPAN}", TRACE.replace('9', "A"))), None),
            (id_of(&format!(".{}-{SPAN}", TRACE.get(1..).unwrap())), None),
            (id_of(&format!("{}-{SPAN}", TRACE.get(1..).unwrap())), None),
            (id_of(&format!("{TRACE}0-{}", SPAN.get(1..).unwrap())), None),
            (id_of(&format!("{TRACE}-{}", SPAN.replace('9', "x"))), None),
            (String::new(), None),
            ("-".repeat(LENGTH), None),
        ] {
            let read = read(&[&parent], &[]).map(|context| context.to_string());
            assert_eq!(read, read_as.map(|flags| format!("00-{ids}-{flags}")), "{parent}");
        }
        let twice = format!("00-{ids}-01");
        assert_eq!(read(&[&twice, &twice], &[]), None);
        assert_eq!(read(&[], &["a=1"]), None);
    }

    #[test]
    fn an_invalid_state_leaves_the_parent() {
        let parent = format!("00-{TRACE}-{SPAN}-01");
        let state = |lines: &[&str]| read(&[&parent], lines).unwrap().state().to_owned();
        assert_eq!(state(&["a=1", "b=2"]), "a=1,b=2");
        assert_eq!(state(&["a=1", "b=\t2", "c=3"]), "");
        let written = |context: TraceContext| {
            let mut headers = HeaderMap::new();
            headers.append(TRACESTATE, "old=1".parse().unwrap());
            headers.append(TRACESTATE, "old=2".parse().unwrap());
            context.write(&mut headers);
            headers
        };
        let context = read(&[&parent], &["a=1"]).unwrap();
        assert_eq!(written(context.clone()).get(TRACESTATE).unwrap(), "a=1");
        assert_eq!(written(context.with_state("=")).get(TRACESTATE), None);
    }
}
