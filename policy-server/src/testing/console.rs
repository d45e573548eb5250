//! What a browser's console says of a load, and what it leaves out.

use std::fmt::Write;

use http::{StatusCode, header::CONTENT_TYPE};
use policy_core::browser::{Answer, Outcome, Reason};
use serde_json::Value;

use super::fetched::Exchange;

/// What is said of a load that did not end well.
pub(super) fn text(outcome: &Outcome, last: Option<&Exchange>) -> Option<String> {
    let mut text = match outcome {
        Outcome::Blocked(blocked) => format!("{blocked:?}"),
        Outcome::Response(response) | Outcome::Page(_, response) if response.status >= 400 => {
            let request = &last?.request;
            format!("{} {} {}", request.method, request.url, named(response.status))
        }
        _ => return None,
    };
    let Some(Exchange { request, answer, decider }) = last else { return Some(text) };
    let problem = answer.as_ref().and_then(Problem::of);
    if let Some(answer) = answer {
        let (method, url, status) = (&request.method, &request.url, named(answer.status));
        append(&mut text, &format!("{method} {url} was answered with {status}"));
    }
    if let Some(Problem { code, detail }) = &problem {
        let _ = write!(text, ": {code}: {detail}");
    }
    if let Some(decider) = decider {
        let code = problem.as_ref().map_or("", |problem| &*problem.code);
        append(&mut text, &decider.words(attributes(outcome, code)));
    }
    Some(text)
}

/// Writing to a string does not fail.
fn append(text: &mut String, line: &str) {
    let _ = write!(text, "\n  {line}");
}

fn named(status: u16) -> String {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    match reason {
        Some(reason) => format!("{status} ({reason})"),
        None => status.to_string(),
    }
}

/// A problem that an app answers with (RFC 9457 3).
struct Problem {
    code: String,
    detail: String,
}

impl Problem {
    fn of(answer: &Answer) -> Option<Self> {
        let media_type = answer.headers.get(CONTENT_TYPE)?.as_bytes();
        if !media_type.starts_with(b"application/problem+json") {
            return None;
        }
        let problem: Value = serde_json::from_slice(&answer.body).ok()?;
        let member = |name| problem.get(name).and_then(Value::as_str);
        let code = member("code").or_else(|| member("type"))?.to_owned();
        let detail = member("detail").or_else(|| member("title"))?.to_owned();
        Some(Self { code, detail })
    }
}

/// The attributes that decide such a thing: the code of the app's refusal names them, else what
/// the browser looked for in vain.
fn attributes(outcome: &Outcome, code: &str) -> &'static [&'static str] {
    let by_code: &[&str] = match code.split_once('.') {
        Some(("auth" | "session", _)) => &["auth"],
        Some(("csrf", _)) => &["csrf", "auth"],
        Some(("cors", _)) => &["cors"],
        Some(("isolation", _)) => &["isolation"],
        Some(("jsonp", _)) => &["jsonp"],
        Some(("limit", _)) => &["limit"],
        _ => &[],
    };
    match outcome.blocked().map(|blocked| &blocked.reason) {
        None | Some(Reason::NoUpgrade(_)) => by_code,
        Some(Reason::ResourcePolicy(_) | Reason::Framing(_) | Reason::ScriptType(_)) => {
            &["headers"]
        }
        Some(_) => &["cors"],
    }
}
