//! The replacement of an app's own code: it records that it ran, and responds like an adversary of
//! the policy.

use std::{cell::RefCell, panic::resume_unwind, sync::Arc};

use axum_core::{
    body::Body,
    extract::{FromRequestParts, Request},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use policy_core::session::Identity;

use crate::{
    auth::{
        RequestAuth,
        scheme::{AuthError, Scheme, SchemeRequest, SharedScheme},
        session::Sessions,
    },
    handler::{
        BoxFuture, Call,
        extract::Context,
        object::samples::{self, ListAnswers, ListTrial, SampleObject, Trial},
        service::SharedService,
    },
};

/// The header, and the cookie, for credentials of a custom scheme.
pub(super) const OWN_CREDENTIAL: &str = "x-policy-credential";
/// The value of an invalid credential.
pub(super) const BAD_CREDENTIAL: &str = "wrong";
/// A response header that no policy exposes.
const HIDDEN: HeaderName = HeaderName::from_static("x-policy-hidden");
/// The text in a body before and after the principal that it was made for.
const MADE_FOR: [&str; 2] = [r#"{"policy-probe-made-for":""#, r#""}"#];

/// The behaviour of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum HandlerBehavior {
    /// It responds with 200.
    Answers,
    /// It responds with another status.
    Fails(u16),
    /// It panics.
    Panics,
    /// It logs a user in, if it takes the sessions, and responds with 200.
    LogsIn,
}

/// The instructions for the probe.
#[derive(Clone, Debug)]
pub(super) struct ProbeScript {
    pub(super) behavior: HandlerBehavior,
    /// Whether the handler takes the session itself.
    pub(super) takes_session: bool,
    /// Fields that are declared as exposed.
    pub(super) exposed: Vec<HeaderName>,
    /// The session cookie, which the probe tries to set.
    pub(super) cookie: Option<String>,
    /// Whether it responds with a page.
    pub(super) is_page: bool,
    /// Whether other requests arrive while it works.
    pub(super) is_slow: bool,
    /// The object that each parameter of the path names; `None` to check no objects.
    pub(super) object: Option<SampleObject>,
    /// The list that it reads.
    pub(super) list: Option<ListTrial>,
}

/// The report of a handler that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProbeReport {
    /// The principal that the handler received.
    pub(super) principal: Option<Box<str>>,
    /// The report of the list that it was to read.
    pub(super) listed: Option<ListAnswers>,
}

/// The instructions for the probes of a thread, and what they report.
#[derive(Default)]
struct Probe {
    script: Option<ProbeScript>,
    report: Option<ProbeReport>,
    /// Whether a request has passed the gates, though a layer of a group or a route may have kept it
    /// from the handler.
    is_reached: bool,
}

thread_local! {
    /// Not stored in the request, since a layer may replace that.
    static PROBE: RefCell<Probe> = RefCell::default();
}

/// Sets the instructions for the probe of this thread, and clears its report.
pub(super) fn program(script: ProbeScript) {
    samples::set(Some(match script.object {
        None => Trial::Skipped(handler),
        Some(object) => Trial::Checked(handler, object),
    }));
    PROBE.set(Probe { script: Some(script), ..Probe::default() });
}

/// The report of the handler, if it ran, and whether a request has passed the gates.
pub(super) fn take_report() -> (Option<ProbeReport>, bool) {
    samples::set(None);
    let Probe { report, is_reached, .. } = PROBE.take();
    (report, is_reached)
}

pub(super) fn is_reached() -> bool {
    PROBE.with_borrow(|probe| probe.is_reached)
}

/// Records that a request has passed the gates, in front of the layers of a group or route.
pub(super) fn entrance(layers: SharedService) -> SharedService {
    SharedService::boxed(move |request| {
        PROBE.with_borrow_mut(|probe| probe.is_reached = true);
        layers.run(request)
    })
}

/// Replaces a handler.
pub(super) fn handler(call: &mut Call) -> BoxFuture {
    answer(call.auth.clone(), |script| {
        let takes_request = script.takes_session || script.list.is_some();
        takes_request.then(|| call.take_request())
    })
}

/// Replaces what has no attributes: a mounted service, the upstream of a proxy, and the fallback.
pub(super) fn service() -> SharedService {
    SharedService::boxed(|request| {
        let context = Context::from_extensions(request.extensions()).ok();
        answer(context.and_then(|context| context.auth.clone()), |_script| None)
    })
}

/// Responds to a request by the script. `take` returns the request for what a handler extracts from it.
fn answer(
    auth: Option<Arc<RequestAuth>>,
    take: impl FnOnce(&ProbeScript) -> Option<Request>,
) -> BoxFuture {
    let script = PROBE.with_borrow(|probe| probe.script.clone());
    let Some(script) = script else { return Box::pin(async { ().into_response() }) };
    let request = take(&script);
    Box::pin(async move {
        let (mut sessions, mut listed) = (None, None);
        if let Some(request) = request {
            let (mut parts, _) = request.into_parts();
            if let Some(list) = script.list {
                match (list.probe)(&parts, list) {
                    Ok(read) => listed = Some(read),
                    Err(refused) => return refused.into_response(),
                }
            }
            if script.takes_session {
                match Sessions::from_request_parts(&mut parts, &()).await {
                    Ok(taken) => sessions = Some(taken),
                    Err(refused) => return refused.into_response(),
                }
            }
        }
        let principal = auth.as_ref().and_then(|auth| auth.principal());
        let principal: Option<Box<str>> = principal.map(|principal| principal.subject().into());
        note(principal.clone(), listed);
        for _ in 0..if script.is_slow { 8 } else { 0 } {
            tokio::task::yield_now().await;
        }
        if let (HandlerBehavior::LogsIn, Some(sessions)) = (script.behavior, sessions)
            && let Err(error) = sessions.login("policy-probe-login").await
        {
            return crate::base::problem::Problem::from(error).into_response();
        }
        respond(&script, principal.as_deref())
    })
}

fn note(principal: Option<Box<str>>, listed: Option<ListAnswers>) {
    PROBE.with_borrow_mut(|probe| {
        probe.report = Some(ProbeReport { principal, listed });
        probe.is_reached = true;
    });
}

/// The principal for whom a probe made this body.
pub(super) fn made_for(body: &[u8]) -> Option<Box<str>> {
    let [before, after] = MADE_FOR;
    let (_, rest) = str::from_utf8(body).ok()?.split_once(before)?;
    Some(rest.split_once(after)?.0.into())
}

fn respond(script: &ProbeScript, principal: Option<&str>) -> Response {
    let status = match script.behavior {
        HandlerBehavior::Answers | HandlerBehavior::LogsIn => StatusCode::OK,
        HandlerBehavior::Fails(status) => {
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
        }
        // Like a panic, but without the message on standard error.
        HandlerBehavior::Panics => resume_unwind(Box::new("the probe panics")),
    };
    let [before, after] = MADE_FOR;
    let body = principal.map_or_else(|| "{}".to_owned(), |who| format!("{before}{who}{after}"));
    let mut response = (status, Body::from(body)).into_response();
    let headers = response.headers_mut();
    adverse(headers);
    if script.is_page {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
    }
    // A redirect with an address is followed: no page reads that response.
    let is_followed = |name: &HeaderName| status.is_redirection() && *name == header::LOCATION;
    for name in script.exposed.iter().filter(|name| !is_followed(name)) {
        headers.insert(name.clone(), HeaderValue::from_static("1"));
    }
    if let Some(name) = &script.cookie
        && let Ok(planted) = HeaderValue::from_str(&format!("{name}=planted; Path=/"))
    {
        headers.append(header::SET_COOKIE, planted);
    }
    response
}

/// Adds all headers that a handler should not be able to send.
fn adverse(headers: &mut HeaderMap) {
    let any = HeaderValue::from_static("*");
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, any.clone()),
        (header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true")),
        (header::ACCESS_CONTROL_ALLOW_METHODS, any.clone()),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, any.clone()),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, any),
        (header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400")),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=600")),
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::VARY, HeaderValue::from_static("accept-language")),
        (HIDDEN, HeaderValue::from_static("1")),
    ] {
        headers.insert(name, value);
    }
}

/// Replaces a custom scheme, for which no credentials can be made here.
pub(super) fn scheme(own: &SharedScheme) -> SharedScheme {
    SharedScheme::new(OwnScheme { challenge: own.challenge() })
}

struct OwnScheme {
    challenge: Option<HeaderValue>,
}

impl Scheme for OwnScheme {
    // The policy states whether the scheme is ambient.
    const AMBIENT: bool = false;

    fn challenge(&self) -> Option<HeaderValue> {
        self.challenge.clone()
    }

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        let field = request.headers().get(OWN_CREDENTIAL).and_then(|value| value.to_str().ok());
        let cookies = request.headers().get_all(header::COOKIE).iter();
        let mut pairs = cookies
            .filter_map(|cookies| cookies.to_str().ok())
            .flat_map(|cookies| cookies.split("; "));
        let cookie = || pairs.find_map(|pair| pair.strip_prefix(OWN_CREDENTIAL)?.strip_prefix('='));
        match field.or_else(cookie) {
            None => Ok(None),
            Some(BAD_CREDENTIAL) => Err(AuthError::Invalid),
            Some(text) => Ok(Some(identity(text))),
        }
    }
}

/// The user of a test credential: `subject/scope&scope/role&role`, in characters that are valid in
/// a cookie.
fn identity(text: &str) -> Identity {
    let mut parts = text.split('/');
    let subject = parts.next().unwrap_or_default();
    let mut words = || parts.next().unwrap_or_default().split('&').filter(|word| !word.is_empty());
    let scopes: Vec<&str> = words().collect();
    Identity::new(subject).tenant(samples::TENANT).scopes(scopes).roles(words())
}
