//! The sender of a response, and whether it decided as the policy requires.

use http::{Method, header};
use policy_core::Refusal;
use policy_manifest::engine::Outcome;

use super::{Findings, JudgedExchange, is_refusal, may_be_refused_early, outcome};
use crate::commands::audit::{
    codes::Code,
    plan::{PathForm, Purpose},
};

/// Judges the decision, and returns whether the response is the app's own, so that its headers
/// count.
pub(super) fn judge(judged: &JudgedExchange<'_>, findings: &mut Findings<'_>) -> bool {
    let purpose = findings.trial.purpose;
    let code = judged.response.code();
    // HEAD is compared with GET, and a proxy may serve static files itself.
    if judged.request.method() == Method::HEAD || purpose == Purpose::StaticFile {
        return false;
    }
    let found = match (purpose, code.as_deref()) {
        (Purpose::Forwarded, code) => {
            let believed = [Refusal::PlainHttp, Refusal::ForwardedMalformed, Refusal::HostUnknown];
            let is_believed = believed.iter().any(|refusal| code == Some(refusal.code()));
            is_believed.then_some(Code::ForwardedPassed)
        }
        (Purpose::Host, code) => host(judged, code),
        (Purpose::FetchMetadata, code) if is_let_pass(judged, code) => {
            Some(Code::FetchMetadataDropped)
        }
        (_, Some(code)) if code == Refusal::PlainHttp.code() => Some(Code::SchemeLost),
        (_, Some(code)) if code == Refusal::HostUnknown.code() => Some(Code::HostRewritten),
        (_, Some("wire.forwarded-malformed")) => Some(Code::ForwardedPassed),
        (Purpose::Path(form), code) => path(judged, form, code),
        (Purpose::Trace, _) => {
            (judged.response.status < 300 && !has_status(judged)).then_some(Code::TraceServed)
        }
        _ => usual(judged, purpose, code.as_deref()),
    };
    if let Some(found) = found {
        let words = outcome(judged.response);
        let words = match judged.response.text(&header::LOCATION) {
            Some(location) => format!("{words}, `location: {location}`"),
            None => words,
        };
        findings.add(found, judged, judged.expected.words(), words);
        return false;
    }
    let is_app = judged.expected.refusal().is_none() || code.is_some();
    is_app && !may_be_refused_early(purpose)
}

fn has_status(judged: &JudgedExchange<'_>) -> bool {
    judged.expected.decision.status == Some(judged.response.status)
}

/// Whether the app does not refuse a request that only Fetch Metadata shows to be cross-site.
fn is_let_pass(judged: &JudgedExchange<'_>, code: Option<&str>) -> bool {
    let origin = [Refusal::PlainHttp, Refusal::HostUnknown, Refusal::ForwardedMalformed];
    match code {
        Some(code) => {
            let is_earlier = origin.iter().any(|refusal| refusal.code() == code);
            !is_earlier && judged.expected.refusal().map(Refusal::code) != Some(code)
        }
        None => judged.response.status < 300,
    }
}

/// A request for another host. A proxy may refuse it, and redirect to the right one.
fn host(judged: &JudgedExchange<'_>, code: Option<&str>) -> Option<Code> {
    let expected = judged.expected.refusal().map(Refusal::code);
    let is_served = judged.response.status < 300 || (code.is_some() && code != expected);
    (expected == Some(Refusal::HostUnknown.code()) && is_served).then_some(Code::HostRewritten)
}

/// A path in another form. A proxy may refuse it, too.
fn path(judged: &JudgedExchange<'_>, form: PathForm, code: Option<&str>) -> Option<Code> {
    let expected = judged.expected.refusal().map(Refusal::code);
    let is_as_expected = match (expected, code) {
        (Some(expected), Some(code)) => expected == code,
        (Some(_), None) => judged.response.status >= 400,
        (None, Some(code)) => !is_refusal(code),
        (None, None) => !(300..400).contains(&judged.response.status),
    };
    (!is_as_expected).then_some(match form {
        PathForm::DotSegments => Code::PathDotSegments,
        PathForm::Slashes => Code::PathSlashes,
        PathForm::Coded => Code::PathDecoded,
    })
}

fn usual(judged: &JudgedExchange<'_>, purpose: Purpose, code: Option<&str>) -> Option<Code> {
    let (expected, response) = (&judged.expected, judged.response);
    let is_preflight = purpose == Purpose::Preflight;
    // The response of the app to OPTIONS without `Origin` or without the method that is asked for.
    let is_automatic = response.status == 204
        && response.headers.contains_key(header::ALLOW)
        && !response.headers.contains_key(header::ACCESS_CONTROL_ALLOW_METHODS);
    if is_preflight && is_automatic {
        return Some(Code::OriginDropped);
    }
    match expected.decision.outcome {
        Outcome::PreflightGranted => match code {
            Some(code) if is_refusal(code) => Some(Code::OtherPolicy),
            _ => is_answered_elsewhere(judged).then_some(Code::PreflightAnsweredElsewhere),
        },
        Outcome::Automatic if !has_status(judged) || is_without_allow(judged) => {
            Some(Code::OptionsAnsweredElsewhere)
        }
        Outcome::Automatic => None,
        Outcome::Reached => check_reached(judged, code),
        Outcome::Refused(refusal) => check_refused(judged, purpose, refusal, code),
    }
}

/// A granted preflight response has the expected status and lists methods, unless something removed
/// all CORS headers of the deployment.
fn is_answered_elsewhere(judged: &JudgedExchange<'_>) -> bool {
    let wanted = judged.expected.cors(&header::ACCESS_CONTROL_ALLOW_ORIGIN);
    let found = judged.response.text(&header::ACCESS_CONTROL_ALLOW_ORIGIN);
    let lists = |name| judged.response.words(&name);
    let methods = judged.expected.cors(&header::ACCESS_CONTROL_ALLOW_METHODS);
    let others = lists(header::ACCESS_CONTROL_ALLOW_METHODS);
    let is_other_list = methods.is_some_and(|methods| {
        let methods: Vec<_> =
            methods.split(',').map(|method| method.trim().to_ascii_lowercase()).collect();
        !others.is_empty() && methods.iter().any(|method| !others.contains(method))
    });
    !has_status(judged) || (found != wanted && is_other_list)
}

fn is_without_allow(judged: &JudgedExchange<'_>) -> bool {
    !judged.response.headers.contains_key(header::ALLOW)
}

fn check_reached(judged: &JudgedExchange<'_>, code: Option<&str>) -> Option<Code> {
    let code = code.filter(|code| is_refusal(code))?;
    // The parameters of the path are made up, and handlers refuse with these codes, too.
    let area = code.split('.').next().unwrap_or_default();
    if matches!(area, "object" | "request" | "limit" | "handler") {
        return None;
    }
    // Rights, age, session and issuer of a credential are not in the manifest.
    let is_open = [Refusal::RightsMissing, Refusal::LoginTooOld, Refusal::CallerForeign];
    let is_open = is_open.map(Refusal::code);
    if judged.probe.credential.is_some() {
        let is_dropped = code == Refusal::CredentialsMissing.code();
        return match is_open.contains(&code) {
            true => None,
            false if is_dropped => Some(Code::CredentialDropped),
            false => Some(Code::OtherPolicy),
        };
    }
    (!judged.expected.is_service()).then_some(Code::OtherPolicy)
}

fn check_refused(
    judged: &JudgedExchange<'_>,
    purpose: Purpose,
    refusal: Refusal,
    code: Option<&str>,
) -> Option<Code> {
    let status = judged.response.status;
    let is_forged = judged.request.headers().contains_key(header::AUTHORIZATION);
    match code {
        Some(code) if code == refusal.code() => None,
        Some(code) if is_forged && code == Refusal::CredentialsMissing.code() => {
            Some(Code::CredentialDropped)
        }
        Some(_) => Some(Code::OtherPolicy),
        None if status == refusal.status() && !shares(judged) => Some(Code::ErrorReplaced),
        None if purpose == Purpose::Preflight => Some(Code::PreflightAnsweredElsewhere),
        None if purpose == Purpose::Method => Some(Code::MethodBlocked),
        None if (300..400).contains(&status) => Some(Code::Redirected),
        // The origin is the only reason for this refusal.
        None if refusal == Refusal::CrossSite && status < 300 => Some(Code::OriginDropped),
        None => Some(Code::AnsweredElsewhere),
    }
}

fn shares(judged: &JudgedExchange<'_>) -> bool {
    judged.response.headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN)
}
