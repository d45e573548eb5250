//! What several responses in a row show: caches that mix up clients, and HEAD beside GET.

use http::{HeaderName, Method, header};
use policy_core::cache::Audience;
use policy_manifest::Manifest;

use super::{Findings, JudgedExchange, headers::nonce, is_inconclusive, outcome};
use crate::commands::audit::{
    codes::Code,
    expected::Caching,
    plan::{OF_NOBODY, Purpose},
};

/// Judges the responses of a trial together. Returns the indices of those that a cache mixed up,
/// which are not judged alone.
pub(super) fn judge(
    manifest: &Manifest,
    all: &[JudgedExchange<'_>],
    findings: &mut Findings<'_>,
) -> Vec<usize> {
    let mut mixed = Vec::new();
    // A trial that begins without a credential first shows the anonymous response.
    let nobody = all.first().filter(|first| first.probe.credential.is_none());
    for pair in all.windows(2) {
        let [first, second] = pair else { continue };
        if is_inconclusive(first.response) || is_inconclusive(second.response) {
            continue;
        }
        match findings.trial.purpose {
            Purpose::Plain => plain(first, second, findings),
            Purpose::Callers if is_of_other_caller(manifest, first, second) => {
                let found = outcome(second.response);
                let found = format!("{found}, as the request before it");
                let expected = second.expected.words();
                findings.add_for_all(Code::CacheSharesUsers, &[first, second], expected, found);
                mixed.push(second.index);
            }
            Purpose::StaticFile if is_kept_for_all(nobody, first, second) => {
                let found =
                    format!("{}, as the request with a credential", outcome(second.response));
                let expected = second.expected.words();
                findings.add_for_all(Code::StaticFileCached, &[first, second], expected, found);
                mixed.push(second.index);
            }
            Purpose::Callers | Purpose::Origins => same_nonce(first, second, findings),
            _ => (),
        }
    }
    if findings.trial.purpose == Purpose::Plain {
        encodings(all, findings);
    }
    mixed
}

/// Two encodings of a response are two representations (RFC 9110 8.8.3.3).
fn encodings(all: &[JudgedExchange<'_>], findings: &mut Findings<'_>) {
    let coded = |judged: &&JudgedExchange<'_>| {
        judged.response.headers.contains_key(header::CONTENT_ENCODING)
    };
    let is_get = |judged: &&JudgedExchange<'_>| judged.request.method() == Method::GET;
    let (plain, coded) =
        (all.iter().find(|judged| is_get(judged) && !coded(judged)), all.iter().find(coded));
    let (Some(plain), Some(coded)) = (plain, coded) else { return };
    let tag = |judged: &JudgedExchange<'_>| judged.response.text(&header::ETAG);
    let Some(shared) = tag(coded).filter(|shared| tag(plain).as_ref() == Some(shared)) else {
        return;
    };
    if !shared.starts_with("W/") {
        let expected = "an `etag` for each encoding".to_owned();
        let found = format!("`etag: {shared}` for both");
        findings.add_for_all(Code::EtagShared, &[plain, coded], expected, found);
    }
}

/// The headers that HEAD must have in common with GET.
const COMPARED: [HeaderName; 8] = [
    header::CONTENT_TYPE,
    header::CACHE_CONTROL,
    header::VARY,
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
    header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
    header::STRICT_TRANSPORT_SECURITY,
    header::X_CONTENT_TYPE_OPTIONS,
    header::X_FRAME_OPTIONS,
];

fn plain(first: &JudgedExchange<'_>, second: &JudgedExchange<'_>, findings: &mut Findings<'_>) {
    if second.request.method() == Method::HEAD {
        let (get, head) = (first.response, second.response);
        // A compressed GET has more in `Vary`; the request that was sent asks for none.
        let other = COMPARED.iter().find(|name| get.text(name) != head.text(name));
        let text = |status: u16, value: Option<String>| match other {
            Some(name) if get.status == head.status => {
                format!("`{name}: {}`", value.unwrap_or_default())
            }
            _ => status.to_string(),
        };
        if get.status != head.status || other.is_some() {
            let of = |response: &crate::commands::audit::exchange::Response| {
                text(response.status, other.and_then(|name| response.text(name)))
            };
            let expected = format!("{} as GET has", of(get));
            findings.add_for_all(Code::HeadDiffers, &[first, second], expected, of(head));
        }
    }
}

/// Whether the second of two callers got the response that was meant for the first.
fn is_of_other_caller(
    manifest: &Manifest,
    first: &JudgedExchange<'_>,
    second: &JudgedExchange<'_>,
) -> bool {
    let (refusal, code) = (second.expected.refusal(), second.response.code());
    let of_first = first.expected.refusal();
    let is_refused_alike = of_first != refusal
        && code.is_some()
        && code.as_deref() == of_first.map(policy_core::Refusal::code);
    let is_let_through = refusal.is_some()
        && first.expected.is_reached()
        && first.response.status < 300
        && second.response.status < 300
        && first.response.body == second.response.body;
    let differ = first.probe.credential != second.probe.credential;
    let is_copy = differ
        && second.response.is_from_cache()
        && !first.response.body.is_empty()
        && first.response.body == second.response.body;
    let cookie = |judged: &JudgedExchange<'_>| {
        let name = manifest.app.sessions.as_ref()?.cookie.clone();
        let mut lines = judged.response.lines(&header::SET_COOKIE);
        lines.find(|line| line.split('=').next() == Some(&*name) && !line.contains("Max-Age=0"))
    };
    let has_cookie_of_other = cookie(second).is_some() && cookie(first) == cookie(second);
    is_refused_alike || is_let_through || is_copy || has_cookie_of_other
}

/// Whether a client without a credential got the response for a user, or a cache had it.
fn is_kept_for_all(
    nobody: Option<&JudgedExchange<'_>>,
    first: &JudgedExchange<'_>,
    second: &JudgedExchange<'_>,
) -> bool {
    let is_served = first.response.status < 300 && second.response.status < 300;
    let is_personal = match nobody {
        Some(nobody) => first.probe.credential.is_some() && is_personal(nobody, first),
        None => {
            first.expected.decision.is_authenticated
                && !matches!(first.expected.caching(first.response.status), Caching::AtMost(cache)
                    if cache.audience == Audience::Public)
        }
    };
    let is_copy = !first.response.body.is_empty() && first.response.body == second.response.body;
    let is_refused = nobody.is_some() || second.expected.refusal().is_some();
    is_served && is_personal && ((is_copy && is_refused) || second.response.is_from_cache())
}

/// Whether a public service responds differently to its user than to an anonymous client, apart
/// from the file name, and does not allow caches to give the response to all.
fn is_personal(nobody: &JudgedExchange<'_>, user: &JudgedExchange<'_>) -> bool {
    let body = |judged: &JudgedExchange<'_>| {
        String::from_utf8_lossy(&judged.response.body).replace(OF_NOBODY, "")
    };
    let is_for_all = user.response.words(&header::CACHE_CONTROL).iter().any(|it| it == "public");
    !is_inconclusive(nobody.response)
        && !is_for_all
        && (nobody.response.status != user.response.status || body(nobody) != body(user))
}

fn same_nonce(
    first: &JudgedExchange<'_>,
    second: &JudgedExchange<'_>,
    findings: &mut Findings<'_>,
) {
    let name = header::CONTENT_SECURITY_POLICY;
    let lines = (first.response.text(&name), second.response.text(&name));
    let (Some(one), Some(two)) = (&lines.0, &lines.1) else { return };
    if nonce(one).is_some() && nonce(one) == nonce(two) {
        let expected = "a nonce for each response".to_owned();
        let found = "the same nonce".to_owned();
        findings.add_for_all(Code::NonceReused, &[first, second], expected, found);
    }
}
