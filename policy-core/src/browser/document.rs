//! Navigations (HTML, 7.4): what becomes of an answer that is a document.

use http::HeaderMap;

use super::{
    Answer, Destination, Outcome, Page, PageOrigin, Reason, ResponseType,
    filter::{filter, nothing},
    framing,
    headers::{text, trim},
    referrer,
    request::Request,
    site::is_same_site,
};

/// Makes a page of an answer, if it may stand where it is to stand.
pub(super) fn load(request: &Request, answer: Answer, is_cached: bool) -> Result<Outcome, Reason> {
    if !is_document(&answer) {
        return Ok(Outcome::Response(nothing(request, ResponseType::Opaque, is_cached)));
    }
    let url = request.url.clone();
    let frame_of = match request.fetch.destination {
        Destination::Frame => request.page.as_ref(),
        _ => None,
    };
    if let Some(parent) = frame_of {
        framing::check(parent, request, &answer.headers)?;
    }
    let is_sandboxed = csp(&answer.headers).any(|policy| is_sandbox(&policy));
    let page = Page {
        origin: if is_sandboxed { PageOrigin::Opaque } else { request.target.clone() },
        top_level: frame_of.map_or_else(|| url.clone(), |parent| parent.top_level.clone()),
        has_same_site_ancestors: frame_of.is_none_or(|parent| {
            parent.has_same_site_ancestors && is_same_site(&parent.origin, &url)
        }),
        referrer_policy: referrer::policy(&answer.headers).unwrap_or_default(),
        url,
    };
    Ok(Outcome::Page(page, filter(request, answer, is_cached)))
}

/// The policies of `Content-Security-Policy`, in lower case (CSP 3, 2.2.2).
pub(super) fn csp(headers: &HeaderMap) -> impl Iterator<Item = String> {
    let lines = headers.get_all("content-security-policy").iter();
    let policies = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    policies.map(|policy| String::from_utf8_lossy(trim(policy)).to_ascii_lowercase())
}

/// The values of a directive: its first one in a policy counts.
pub(super) fn directive<'a>(policy: &'a str, name: &str) -> Option<Vec<&'a str>> {
    policy.split(';').find_map(|directive| {
        let mut words = directive.split_ascii_whitespace();
        (words.next() == Some(name)).then(|| words.collect())
    })
}

/// Whether a policy makes the origin opaque.
fn is_sandbox(policy: &str) -> bool {
    directive(policy, "sandbox").is_some_and(|flags| !flags.contains(&"allow-same-origin"))
}

/// With other answers the old document stays: there is none, or it is saved to a file.
fn is_document(answer: &Answer) -> bool {
    let is_saved = || {
        text(&answer.headers, "content-disposition").is_some_and(|disposition| {
            let kind = disposition.split(';').next().unwrap_or_default();
            !kind.trim().is_empty() && !kind.trim().eq_ignore_ascii_case("inline")
        })
    };
    !matches!(answer.status, 204 | 205) && !is_saved()
}
