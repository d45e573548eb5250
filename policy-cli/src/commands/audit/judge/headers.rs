//! Whether the headers of the app's own responses arrive as the policy requires.

use http::{HeaderName, header};
use policy_manifest::{Headers, engine::Outcome};

use super::{Findings, JudgedExchange};
use crate::commands::audit::{
    codes::Code,
    expected::{Caching, is_within},
};

pub(super) fn judge(
    judged: &JudgedExchange<'_>,
    all: &[JudgedExchange<'_>],
    findings: &mut Findings<'_>,
) {
    cors(judged, all, findings);
    vary(judged, findings);
    cache_control(judged, findings);
    security(judged, findings);
    allow(judged, findings);
    encoding(judged, findings);
}

/// A header in words.
fn header_words(name: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("`{name}` `{value}`"),
        None => format!("`{name}` none"),
    }
}

fn cors(judged: &JudgedExchange<'_>, all: &[JudgedExchange<'_>], findings: &mut Findings<'_>) {
    let name = header::ACCESS_CONTROL_ALLOW_ORIGIN;
    let lines: Vec<_> = judged.response.lines(&name).collect();
    let wanted = judged.expected.cors(&name);
    let found = lines.first().cloned();
    let has_many = lines.len() > 1 || lines.iter().any(|line| line.contains(','));
    let sent = judged.request.headers().get(header::ORIGIN);
    let is_sent = |text: &str| sent.is_some_and(|sent| sent.as_bytes() == text.as_bytes());
    let code = match (wanted.as_deref(), found.as_deref()) {
        _ if has_many => Code::CorsDuplicated,
        (wanted, found) if wanted == found => {
            return cors_details(judged, findings);
        }
        (_, Some("*")) => Code::CorsAnyOrigin,
        (None, Some(found)) if is_sent(found) => Code::CorsReflected,
        (_, Some(found)) if !is_sent(found) && is_of_earlier(found, judged, all) => {
            Code::CacheSharesOrigins
        }
        (Some(_), None) => Code::CorsMissing,
        _ => Code::CorsChanged,
    };
    let wanted = header_words(name.as_str(), wanted.as_deref());
    let found = header_words(name.as_str(), judged.response.text(&name).as_deref());
    if code == Code::CacheSharesOrigins {
        let earlier: Vec<_> = all.iter().take(judged.index + 1).collect();
        findings.add_for_all(code, &earlier, wanted, found);
    } else {
        findings.add(code, judged, wanted, found);
    }
}

/// Whether an earlier request of the trial came from this origin.
fn is_of_earlier(origin: &str, judged: &JudgedExchange<'_>, all: &[JudgedExchange<'_>]) -> bool {
    let earlier = all.iter().take(judged.index);
    earlier
        .filter_map(|other| other.request.headers().get(header::ORIGIN))
        .any(|other| other.as_bytes() == origin.as_bytes())
}

/// The CORS headers beside the origin.
fn cors_details(judged: &JudgedExchange<'_>, findings: &mut Findings<'_>) {
    for name in [
        header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
        header::ACCESS_CONTROL_ALLOW_METHODS,
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        header::ACCESS_CONTROL_MAX_AGE,
    ] {
        let (wanted, found) = (judged.expected.cors(&name), judged.response.text(&name));
        let words = |text: &Option<String>| {
            let text = text.clone().unwrap_or_default().to_ascii_lowercase();
            let mut words: Vec<_> = text.split(',').map(|word| word.trim().to_owned()).collect();
            words.sort();
            words
        };
        if words(&wanted) != words(&found) {
            let text = |value: Option<String>| header_words(name.as_str(), value.as_deref());
            findings.add(Code::CorsChanged, judged, text(wanted), text(found));
        }
    }
}

fn vary(judged: &JudgedExchange<'_>, findings: &mut Findings<'_>) {
    let names = judged.response.words(&header::VARY);
    let is_named = |name: &String| names.contains(name) || names.iter().any(|word| word == "*");
    let wanted = judged.expected.vary(judged.response);
    let missing: Vec<_> = wanted.iter().filter(|name| !is_named(name)).cloned().collect();
    if !missing.is_empty() {
        let found = header_words("vary", judged.response.text(&header::VARY).as_deref());
        let expected = format!("`vary` with `{}`", missing.join("`, `"));
        findings.add(Code::VaryMissing, judged, expected, found);
    }
}

fn cache_control(judged: &JudgedExchange<'_>, findings: &mut Findings<'_>) {
    let words = judged.response.words(&header::CACHE_CONTROL);
    let has = |word: &str| words.iter().any(|known| known == word);
    let caching = judged.expected.caching(judged.response.status);
    let lines = judged.response.lines(&header::CACHE_CONTROL).count();
    let expires = judged.response.headers.contains_key(header::EXPIRES);
    let (is_right, expected) = match &caching {
        Caching::Open => (true, String::new()),
        Caching::NoStore => (has("no-store") && words.len() == 1 && !expires, "`no-store`".into()),
        Caching::Unsaid => (words.is_empty() && !expires, "no `cache-control`".to_owned()),
        Caching::Personal => (has("private") || has("no-store"), "`private`".to_owned()),
        Caching::AtMost(cache) => {
            let is_right = is_within(cache, &words) && !words.is_empty() && !expires;
            (is_right, format!("at most `{}`", cache.control()))
        }
    };
    if !is_right || (lines > 1 && caching != Caching::Open) {
        let found = judged.response.text(&header::CACHE_CONTROL);
        let expires = if expires { ", and `expires`" } else { "" };
        let found = header_words("cache-control", found.as_deref()) + expires;
        findings.add(Code::CacheControlChanged, judged, expected, found);
    } else if caching == Caching::NoStore && judged.response.is_from_cache() {
        let found = "a response from a cache".to_owned();
        findings.add(Code::NoStoreKept, judged, "a response of its own".to_owned(), found);
    }
}

fn security(judged: &JudgedExchange<'_>, findings: &mut Findings<'_>) {
    for (name, value, may_be_own) in judged.expected.security(judged.response) {
        let Ok(header_name) = HeaderName::from_bytes(name.as_bytes()) else { continue };
        let lines: Vec<_> = judged.response.lines(&header_name).collect();
        let found = lines.iter().map(|line| without_nonce(line)).collect::<Vec<_>>().join(", ");
        // Browsers enforce all policies of several lines.
        let is_one = lines.len() == 1 || (may_be_own && name == "content-security-policy");
        let code = match Headers::is_as_strict(name, value, &found) {
            _ if lines.is_empty() => Code::SecurityHeaderMissing,
            _ if !is_one => Code::SecurityHeaderDuplicated,
            _ if found == value => continue,
            // A handler may write another value, unless it is known to be weaker.
            Some(true) | None if may_be_own => continue,
            Some(false) if may_be_own => Code::SecurityHeaderWeakened,
            _ => Code::SecurityHeaderChanged,
        };
        let found = (!lines.is_empty()).then(|| lines.join("`, `"));
        findings.add(
            code,
            judged,
            header_words(name, Some(value)),
            header_words(name, found.as_deref()),
        );
    }
}

/// A `Content-Security-Policy` with `'nonce'` in place of its nonce.
fn without_nonce(line: &str) -> String {
    let mut parts = line.split("'nonce-");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += "'nonce";
        text += part.find('\'').and_then(|end| part.get(end..)).unwrap_or(part);
    }
    text
}

/// The nonce in a `Content-Security-Policy`.
pub(super) fn nonce(line: &str) -> Option<&str> {
    line.split("'nonce-").nth(1)?.split('\'').next()
}

fn allow(judged: &JudgedExchange<'_>, findings: &mut Findings<'_>) {
    let Some(allow) = &judged.expected.allow else { return };
    let found = judged.response.words(&header::ALLOW);
    if found != *allow {
        let text = |words: &[String]| format!("`allow: {}`", words.join(", ").to_uppercase());
        findings.add(Code::AllowChanged, judged, text(allow), text(&found));
    }
}

fn encoding(judged: &JudgedExchange<'_>, findings: &mut Findings<'_>) {
    let is_coded = judged.response.headers.contains_key(header::CONTENT_ENCODING);
    let names = judged.response.words(&header::VARY);
    let is_named = names.iter().any(|word| word == "accept-encoding" || word == "*");
    // A response that is not stored needs no key.
    let is_kept =
        judged.response.words(&header::CACHE_CONTROL).iter().all(|word| word != "no-store");
    if is_coded && is_kept && !is_named && judged.expected.decision.outcome == Outcome::Reached {
        let found = header_words("vary", judged.response.text(&header::VARY).as_deref());
        let expected = "`vary` with `accept-encoding`".to_owned();
        findings.add(Code::EncodingWithoutVary, judged, expected, found);
    }
}
