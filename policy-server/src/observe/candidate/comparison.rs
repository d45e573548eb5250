//! One request: its outcome, and what the candidate would have decided.

use std::{borrow::Cow, cell::Cell, sync::Arc, sync::atomic::Ordering, time::Instant};

use axum_core::response::Response;
use http::{
    HeaderMap, Request,
    header::{
        ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS,
        ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
        ACCESS_CONTROL_MAX_AGE, CONTENT_TYPE, HeaderName,
    },
};
use policy_core::{
    Refusal, auth::AuthPolicy, cors::OriginsAt, head::Head, method, time::Timestamp,
};
use policy_manifest::engine::{Decision, Outcome};
use tracing::level_filters::LevelFilter;

use super::{RunningCandidate, counts::Kind, sender::Sender};
use crate::{
    auth::{RequestAuth, RouteAuth},
    base::{
        event::log,
        log::{cut, origin_text},
        problem,
    },
    handler::Description,
};

/// The headers in which policies can differ although the outcome is the same.
const FIELDS: [HeaderName; 6] = [
    ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_ALLOW_CREDENTIALS,
    ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_HEADERS,
    ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE,
];

/// A request in flight, in an app that observes a candidate.
#[derive(Debug)]
pub(crate) struct Comparison {
    observed: Arc<RunningCandidate>,
    received: Option<ReceivedHead>,
    route: Option<Arc<str>>,
    admitted: Option<AdmittedRoute>,
}

/// The head of the request, as the gates read it.
#[derive(Debug)]
struct ReceivedHead {
    request: Request<()>,
    is_secure: bool,
    is_connection_secure: Option<bool>,
    is_forwarded: bool,
    forwarded_host: Option<Box<str>>,
    protocol: Option<Box<str>>,
    at: Timestamp,
    lists: Vec<OriginsAt>,
}

/// The route to which the gates of the head let the request through.
#[derive(Debug)]
struct AdmittedRoute {
    auth: AuthPolicy,
    is_handler: bool,
    takes_session: bool,
    has_callback: bool,
    request: Option<Arc<RequestAuth>>,
}

/// The outcome of the request.
enum Real {
    Decided(Outcome),
    /// Its handler began, and had not checked its session yet.
    Begun,
    /// It was decided by something that is in no manifest.
    Unstated,
}

impl Comparison {
    pub(crate) fn new(observed: &Arc<RunningCandidate>) -> Self {
        Self { observed: Arc::clone(observed), received: None, route: None, admitted: None }
    }

    pub(crate) fn received(&mut self, head: &Head<'_>, headers: &HeaderMap, at: Timestamp) {
        let mut request = Request::new(());
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = head.uri.clone();
        *request.version_mut() = head.version;
        *request.headers_mut() = headers.clone();
        self.received = Some(ReceivedHead {
            request,
            is_secure: head.is_secure,
            is_connection_secure: head.is_connection_secure,
            is_forwarded: head.is_forwarded,
            forwarded_host: head.forwarded_host.map(Into::into),
            protocol: head.protocol.map(Into::into),
            at,
            lists: self.observed.lists_now(),
        });
    }

    pub(crate) fn routed(&mut self, path: &Arc<str>) {
        self.route = Some(Arc::clone(path));
    }

    pub(crate) fn on_admission(
        &mut self,
        route: &RouteAuth,
        handler: Option<&Description>,
        has_callback: bool,
        request: Option<&Arc<RequestAuth>>,
    ) {
        self.admitted = Some(AdmittedRoute {
            auth: route.auth,
            is_handler: handler.is_some(),
            takes_session: handler.is_some_and(|handler| handler.takes_session),
            has_callback,
            request: request.map(Arc::clone),
        });
    }

    /// Evaluates the candidate, and counts the result.
    pub(crate) fn on_response(self, response: &Response) {
        let Some(received) = &self.received else { return };
        let counters = &self.observed.candidate.0.counters;
        let head = received.head();
        let real = self.real(&head, response);
        let nobody = AuthPolicy::Public;
        let sender = Sender {
            auth: self.admitted.as_ref().map_or(&nobody, |admitted| &admitted.auth),
            request: self.admitted.as_ref().and_then(|admitted| admitted.request.as_deref()),
            headers: received.request.headers(),
            at: received.at,
            is_beyond_words: Cell::new(false),
        };
        let decision =
            self.observed.engine.decide_head(head, received.request.headers(), |route| {
                Cow::Owned(sender.caller(route))
            });
        let fields = changed(response.headers(), &decision.cors);
        let is_equal = match real {
            Real::Decided(outcome) => outcome == decision.outcome,
            Real::Begun => decision.outcome == Outcome::Reached,
            Real::Unstated => false,
        };
        if is_equal && fields.is_empty() {
            counters.agreed.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let outcome = match real {
            Real::Decided(outcome) => Some(outcome),
            Real::Begun if is_equal => Some(Outcome::Reached),
            Real::Begun | Real::Unstated => None,
        };
        let is_known = !self.is_unknown(received, &sender, &decision);
        // A gate of the head refused, and the candidate lets the request through to its caller.
        let is_past = self.admitted.is_none();
        let is_stable = received.lists == self.observed.lists_now();
        match outcome {
            Some(outcome) if is_stable && (is_known || is_past) => {
                let candidate = if is_known { text(decision.outcome) } else { "undecided" };
                self.differed(received, &decision, text(outcome), candidate, fields);
            }
            _ => {
                counters.undecided.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The outcome of the request.
    fn real(&self, head: &Head<'_>, response: &Response) -> Real {
        let refusal = problem::refusal_written(response);
        let Some(admitted) = &self.admitted else {
            return match refusal {
                Some(refusal) => real_refusal(refusal),
                None if head.is_preflight() && !head.is_asterisk() => {
                    Real::Decided(Outcome::PreflightGranted)
                }
                None => Real::Decided(Outcome::Automatic),
            };
        };
        let request = admitted.request.as_deref();
        if let Some(refusal) = request.and_then(RequestAuth::refusal) {
            let is_of_tunnel = head.is_tunnel() && refusal.status() == 401;
            return real_refusal(if is_of_tunnel { Refusal::TunnelCredentials } else { refusal });
        }
        let is_untyped = || {
            admitted.is_handler
                && head.method.as_str() == "QUERY"
                && self
                    .received
                    .as_ref()
                    .is_some_and(|received| !received.request.headers().contains_key(CONTENT_TYPE))
        };
        match refusal {
            Some(Refusal::RateExceeded | Refusal::ConcurrencyExceeded) => Real::Unstated,
            Some(Refusal::CallbackInvalid) if admitted.has_callback => {
                real_refusal(Refusal::CallbackInvalid)
            }
            Some(Refusal::MediaType) if is_untyped() => real_refusal(Refusal::MediaType),
            _ if admitted.takes_session => match request.and_then(RequestAuth::session_check) {
                Some(Ok(())) => Real::Decided(Outcome::Reached),
                Some(Err(refusal)) => real_refusal(refusal),
                None => Real::Begun,
            },
            _ => Real::Decided(Outcome::Reached),
        }
    }

    /// Whether the decision of the candidate depends on facts that the gates did not determine.
    fn is_unknown(
        &self,
        received: &ReceivedHead,
        sender: &Sender<'_>,
        decision: &Decision,
    ) -> bool {
        match decision.refusal() {
            Some(Refusal::CredentialsUnchecked) => true,
            Some(Refusal::CsrfToken) => {
                sender.is_beyond_words.get()
                    || self
                        .admitted
                        .as_ref()
                        .and_then(|admitted| admitted.request.as_deref())
                        .is_none_or(|auth| auth.has_unread_form(received.request.headers()))
            }
            _ => sender.is_beyond_words.get(),
        }
    }

    fn differed(
        &self,
        received: &ReceivedHead,
        decision: &Decision,
        decided: &'static str,
        candidate: &'static str,
        fields: String,
    ) {
        let RunningCandidate { candidate: of, engine, .. } = &*self.observed;
        let by_candidate = || engine.route(decision).map(|route| Arc::from(route.path.as_str()));
        let route = self.route.clone().or_else(by_candidate);
        let request = &received.request;
        let standard = Some(request.method()).filter(|method| method::is_known(method.as_str()));
        let fields: Box<str> = fields.into();
        if LevelFilter::current() >= LevelFilter::INFO
            && let Some(suppressed) = of.0.lines.admit(Instant::now())
        {
            log!(
                CandidateDiffers,
                candidate = &*of.0.digest,
                method = %request.method(),
                path = %cut(request.uri().path()).escape_debug(),
                route = route.as_deref(),
                origin = %cut(&origin_text(received.head().origin)),
                decided,
                would = candidate,
                fields = &*fields,
                suppressed,
            );
        }
        let method = standard.cloned();
        of.0.counters.differed(Kind { route, method, decided, candidate, fields });
    }
}

impl ReceivedHead {
    fn head(&self) -> Head<'_> {
        let mut head = Head::read(&self.request);
        head.is_secure = self.is_secure;
        head.is_connection_secure = self.is_connection_secure;
        head.is_forwarded = self.is_forwarded;
        head.forwarded_host = self.forwarded_host.as_deref();
        head.protocol = self.protocol.as_deref();
        head
    }
}

/// The outcome of a request with this refusal, if a manifest decides it.
fn real_refusal(refusal: Refusal) -> Real {
    match refusal {
        Refusal::RateExceeded
        | Refusal::ConcurrencyExceeded
        | Refusal::ForwardedMalformed
        | Refusal::PlainHttp
        | Refusal::TraceContent
        | Refusal::BodyIncomplete
        | Refusal::Internal => Real::Unstated,
        refusal => Real::Decided(Outcome::Refused(refusal)),
    }
}

fn text(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Reached => "reached",
        Outcome::PreflightGranted => "preflight",
        Outcome::Automatic => "automatic",
        Outcome::Refused(refusal) => refusal.code(),
    }
}

/// The CORS headers that would differ in the response of the candidate.
fn changed(real: &HeaderMap, candidate: &HeaderMap) -> String {
    let changes = FIELDS.iter().filter_map(|name| {
        let sign = match (real.get(name), candidate.get(name)) {
            (None, None) => return None,
            (Some(one), Some(two)) if one == two => return None,
            (None, Some(_)) => '+',
            (Some(_), None) => '-',
            (Some(_), Some(_)) => '~',
        };
        Some(format!("{sign}{name}"))
    });
    changes.collect::<Vec<_>>().join(" ")
}
