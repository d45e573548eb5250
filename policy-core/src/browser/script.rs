//! Script elements (HTML, fetch a classic script): an answer that runs in the page.

use http::{HeaderMap, HeaderValue};

use super::{
    Answer, Outcome, Reason,
    filter::filter,
    headers::{text, trim},
    mime::Mime,
    request::Request,
};

/// Runs what was answered, if its status and its type let it.
pub(super) fn load(request: &Request, answer: Answer, is_cached: bool) -> Result<Outcome, Reason> {
    let mime = Mime::of(&answer.headers);
    let is_script = mime.as_ref().is_some_and(Mime::is_script);
    let is_never_script = mime.as_ref().is_some_and(Mime::is_never_script);
    if is_never_script || (is_nosniff(&answer.headers) && !is_script) {
        let written = text(&answer.headers, "content-type").unwrap_or_default();
        return Err(Reason::ScriptType(written));
    }
    if !(200..=299).contains(&answer.status) {
        return Ok(Outcome::Response(filter(request, answer, is_cached)));
    }
    Ok(Outcome::Script(answer.body))
}

/// Determine nosniff (Fetch, 3.6): the first value counts.
fn is_nosniff(headers: &HeaderMap) -> bool {
    let first = headers.get("x-content-type-options").map(HeaderValue::as_bytes);
    let first = first.and_then(|line| line.split(|byte| *byte == b',').next());
    first.is_some_and(|value| trim(value).eq_ignore_ascii_case(b"nosniff"))
}
