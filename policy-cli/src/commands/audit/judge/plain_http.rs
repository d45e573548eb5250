//! Plain HTTP of an app that is served over TLS: it has to redirect or refuse.

use http::header;
use policy_core::Refusal;

use super::{Findings, JudgedExchange};
use crate::commands::audit::{codes::Code, exchange::Response};

pub(super) fn judge(own: &str, judged: &JudgedExchange<'_>, findings: &mut Findings<'_>) {
    if !is_redirected(own, judged.response) && !is_refused(judged.response) {
        let expected = format!("a redirect to `{own}`, or a refusal");
        let found = judged.response.status.to_string();
        findings.add(Code::PlainHttp, judged, expected, found);
    }
}

fn is_redirected(own: &str, response: &Response) -> bool {
    let location = response.text(&header::LOCATION).unwrap_or_default();
    // Another host may begin with the same letters.
    let is_own = location
        .strip_prefix(own)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']));
    (300..400).contains(&response.status) && is_own
}

/// Whether the app refuses it as plain HTTP, or a server in front of the app does.
fn is_refused(response: &Response) -> bool {
    match response.code() {
        Some(code) => code == Refusal::PlainHttp.code(),
        None => response.status >= 400,
    }
}
