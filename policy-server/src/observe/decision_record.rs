//! Decision records: one event for each refused request, and for a sample of the others, with
//! everything that is needed to evaluate it again.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use axum_core::response::Response;
use http::{
    HeaderName, HeaderValue, Method, Request,
    header::{ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, COOKIE, ORIGIN},
};
use tracing::Level;

use crate::{
    base::{
        escape::printable,
        log::{code_for_logs, cut},
    },
    observe::request_id::RequestId,
};

/// The target that operators filter by.
const TARGET: &str = "policy::decision";

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Which requests [`App::decision_records`](crate::App::decision_records) records.
///
/// ```
/// use policy_server::{DecisionRecords, prelude::*};
///
/// let app = App::new(()).decision_records(DecisionRecords::refusals().and_one_in(100));
/// # assert!(app.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "they are given to `App::decision_records`"]
pub struct DecisionRecords {
    /// One in this many permitted requests is recorded; 0 for none.
    sample: u64,
}

impl DecisionRecords {
    /// Requests that are refused.
    pub const fn refusals() -> Self {
        Self { sample: 0 }
    }

    /// Records one in this many permitted requests as well; with 0, none.
    pub const fn and_one_in(self, permitted: u64) -> Self {
        Self { sample: permitted }
    }
}

/// The decisions that an app records.
#[derive(Debug)]
pub(crate) struct Decisions {
    /// The digest of the policy.
    policy: Box<str>,
    records: DecisionRecords,
    request_count: AtomicU64,
}

impl Decisions {
    pub(crate) fn new(policy: String, records: DecisionRecords) -> Self {
        Self { policy: policy.into(), records, request_count: AtomicU64::new(0) }
    }

    /// Whether this request is in the sample.
    fn is_sampled(&self) -> bool {
        let sample = self.records.sample;
        sample != 0 && self.request_count.fetch_add(1, Ordering::Relaxed).is_multiple_of(sample)
    }
}

/// The record of a request in flight.
#[derive(Debug)]
pub(crate) struct Record {
    decisions: Arc<Decisions>,
    method: Method,
    path: Box<str>,
    route: Option<Arc<str>>,
    origin: Option<HeaderValue>,
    site: Option<HeaderValue>,
    mode: Option<HeaderValue>,
    dest: Option<HeaderValue>,
    asks: Option<HeaderValue>,
    has_cookie: bool,
    has_authorization: bool,
    id: Option<RequestId>,
}

impl Record {
    /// `None` if no subscriber is interested.
    pub(crate) fn begin<B>(
        decisions: &Arc<Decisions>,
        request: &Request<B>,
        id: Option<RequestId>,
    ) -> Option<Self> {
        if !tracing::enabled!(target: TARGET, Level::INFO) {
            return None;
        }
        let headers = request.headers();
        let field = |name: &HeaderName| headers.get(name).cloned();
        Some(Self {
            decisions: Arc::clone(decisions),
            method: request.method().clone(),
            path: cut(request.uri().path()).into(),
            route: None,
            origin: field(&ORIGIN),
            site: field(&SEC_FETCH_SITE),
            mode: field(&SEC_FETCH_MODE),
            dest: field(&SEC_FETCH_DEST),
            asks: field(&ACCESS_CONTROL_REQUEST_METHOD),
            has_cookie: headers.contains_key(COOKIE),
            has_authorization: headers.contains_key(AUTHORIZATION),
            id,
        })
    }

    pub(crate) fn routed(&mut self, path: &Arc<str>) {
        self.route = Some(Arc::clone(path));
    }

    /// Writes the record, if the request was refused or is in the sample.
    pub(crate) fn on_response(&self, response: &Response) {
        let code = code_for_logs(response);
        if code.is_none() && !self.decisions.is_sampled() {
            return;
        }
        let text = |value: &Option<HeaderValue>| {
            value.as_ref().map(|value| printable(&String::from_utf8_lossy(value.as_bytes())))
        };
        tracing::info!(
            target: TARGET,
            policy = &*self.decisions.policy,
            method = %self.method,
            path = %printable(&self.path),
            route = self.route.as_deref(),
            origin = text(&self.origin),
            site = text(&self.site),
            mode = text(&self.mode),
            dest = text(&self.dest),
            asks = text(&self.asks),
            cookie = self.has_cookie,
            authorization = self.has_authorization,
            status = response.status().as_u16(),
            code = code.as_deref(),
            request_id = self.id.as_ref().map(RequestId::as_str),
        );
    }
}
