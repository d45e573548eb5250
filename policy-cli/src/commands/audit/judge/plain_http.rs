//! Plain HTTP of an app that is served over TLS: it has to redirect or refuse.

use http::header;
use policy_core::Refusal;

use super::{Findings, JudgedExchange};
use crate::commands::audit::{codes::Code, exchange::Response};

pub(super) fn judge(own: &str, judged: &JudgedExchange<'_>, findings: &mut Findings<'_>) {
    if protection(own, judged.response).is_none() {
        let expected = format!("a redirect to `{own}`, or a refusal");
        let found = judged.response.status.to_string();
        findings.add(Code::PlainHttp, judged, expected, found);
    }
}

/// How a response keeps clients from plain HTTP, in words.
pub(in crate::commands::audit) fn protection(own: &str, response: &Response) -> Option<String> {
    let location = response.text(&header::LOCATION).unwrap_or_default();
    // Another host may begin with the same letters.
    let is_own = location
        .strip_prefix(own)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']));
    let code = response.code();
    let is_refused = code.as_deref() == Some(Refusal::PlainHttp.code());
    if (300..400).contains(&response.status) && is_own {
        Some(format!("plain HTTP redirects to `{own}`; audit that"))
    } else if is_refused || (response.status >= 400 && code.is_none()) {
        Some(format!("plain HTTP is refused with {}", response.status))
    } else {
        None
    }
}
