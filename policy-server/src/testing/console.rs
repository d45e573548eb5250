//! The text of a browser's console about a load, and further information that consoles leave out.

use std::fmt::Write;

use http::{StatusCode, header::CONTENT_TYPE};
use policy_browser::{Outcome, Reason, ServerResponse};
use policy_core::Refusal;
use policy_manifest::facet;
use serde_json::Value;

use super::fetched::Exchange;

/// The text about a load that failed.
pub(super) fn text(outcome: &Outcome, last: Option<&Exchange>) -> Option<String> {
    let problem = last.and_then(|last| {
        let response = last.response.as_ref()?;
        Problem::parse(response).or_else(|| Problem::from_server_timing(response))
    });
    let mut text = match outcome {
        Outcome::Blocked(blocked) => {
            let mut text = blocked.to_string();
            if let Some(Exchange { request, response: Some(response), .. }) = last {
                let (status, method, url) =
                    (describe_status(response.status), &request.method, &request.url);
                append(&mut text, &format!("the server responded with {status} to {method} {url}"));
            }
            text
        }
        Outcome::Response(response) | Outcome::Page(_, response) if response.status >= 400 => {
            let request = &last?.request;
            format!("{} {} {}", request.method, request.url, describe_status(response.status))
        }
        _ => return not_stored(last?),
    };
    if let Some(Problem { code, title }) = &problem {
        append(&mut text, &format!("{code}: {title}"));
    }
    if let Some(last) = last {
        let of_response = last.response.as_ref().is_some_and(|it| is_about_callers(it.status));
        let withheld = last.request.withheld.iter().filter(|_| of_response);
        // Cookies of this response are newer than those of earlier ones.
        let before = withheld.filter(|cookie| !last.not_stored.contains(cookie));
        for cookie in before.chain(&last.not_stored) {
            append(&mut text, &cookie.to_string());
        }
    }
    if let Some(decider) = last.and_then(|last| last.decider.as_ref()) {
        let code = problem.as_ref().map_or("", |problem| &*problem.code);
        append(&mut text, &decider.words(&attributes(outcome, code)));
    }
    Some(text)
}

/// The text about a load that succeeded but whose cookies are not stored.
fn not_stored(last: &Exchange) -> Option<String> {
    let Exchange { request, response, not_stored, decider } = last;
    let status = describe_status(response.as_ref()?.status);
    let mut text = format!("{} {} {status}", request.method, request.url);
    if not_stored.is_empty() {
        return None;
    }
    not_stored.iter().for_each(|cookie| append(&mut text, &cookie.to_string()));
    if let Some(decider) = decider {
        append(&mut text, &decider.words(&["cors"]));
    }
    Some(text)
}

/// Whether a cookie that is missing may be the reason for the status.
fn is_about_callers(status: u16) -> bool {
    matches!(status, 401 | 403)
}

/// Writing to a string does not fail.
fn append(text: &mut String, line: &str) {
    let _ = write!(text, "\n  {line}");
}

fn describe_status(status: u16) -> String {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    match reason {
        Some(reason) => format!("{status} ({reason})"),
        None => status.to_string(),
    }
}

/// The problem document of an app's response.
struct Problem {
    code: String,
    /// The title.
    title: String,
}

impl Problem {
    /// Reads the problem in either form: JSON (RFC 9457 3), or the HTML page for people.
    fn parse(response: &ServerResponse) -> Option<Self> {
        let media_type = response.headers.get(CONTENT_TYPE)?.as_bytes();
        let body = std::str::from_utf8(&response.body).ok()?;
        if media_type.starts_with(b"text/html") {
            let code = between(body, "<p>Code: <code>", "</code>")?;
            let detail = between(body, "<p class=\"detail\">", "</p>");
            let title = detail.or_else(|| between(body, "<h1>", "</h1>"))?;
            return Some(Self { code: code.to_owned(), title: title.to_owned() });
        }
        if !media_type.starts_with(b"application/problem+json") {
            return None;
        }
        let problem: Value = serde_json::from_str(body).ok()?;
        let member = |name| problem.get(name).and_then(Value::as_str);
        let code = member("code").or_else(|| member("type"))?.to_owned();
        let title = member("detail").or_else(|| member("title"))?.to_owned();
        Some(Self { code, title })
    }

    /// The code in a header of a server in the development profile, for a response without a body, such
    /// as one to HEAD.
    fn from_server_timing(response: &ServerResponse) -> Option<Self> {
        let values = response.headers.get_all("server-timing").into_iter();
        let mut codes =
            values.filter_map(|value| between(value.to_str().ok()?, "policy;desc=\"", "\""));
        let code = codes.next()?;
        let refusal = Refusal::ALL.iter().find(|refusal| refusal.code() == code)?;
        Some(Self { code: code.to_owned(), title: refusal.title().to_owned() })
    }
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    Some(text.split_once(before)?.1.split_once(after)?.0)
}

/// The attributes that decide such a case: named by the code of the app's refusal, or else by
/// the permission that the browser needed.
fn attributes(outcome: &Outcome, code: &str) -> Vec<&'static str> {
    let by_code = || match code.split_once('.') {
        Some(("session", _)) => vec!["auth"],
        Some(("csrf", _)) => vec!["csrf", "auth"],
        Some((area, _)) => {
            let attributes = facet::ALL.iter().map(|facet| facet.attribute);
            attributes.filter(|attribute| *attribute == area).collect()
        }
        None => Vec::new(),
    };
    match outcome.blocked().map(|blocked| &blocked.reason) {
        None
        | Some(
            Reason::NoUpgrade(_)
            | Reason::LocalNetwork(_)
            | Reason::InsecureLocalNetwork(_)
            | Reason::ProxyStatus,
        ) => by_code(),
        Some(Reason::ResourcePolicy(_) | Reason::Framing(_) | Reason::ScriptType(_)) => {
            vec!["headers"]
        }
        Some(_) => vec!["cors"],
    }
}
