//! The observation of one request: its id, its entry in the access log, the record of its decision,
//! and the decision of a candidate policy.

use std::{net::IpAddr, sync::Arc};

use axum_core::response::Response;
#[cfg(feature = "manifest")]
use http::HeaderMap;
use http::Request;
use policy_core::trace::TraceContext;

#[cfg(feature = "manifest")]
use policy_core::head::Head;

#[cfg(feature = "manifest")]
use crate::{
    auth::{RequestAuth, RouteAuth},
    base::clock::Clock,
    handler::Description,
    observe::{
        candidate::{Comparison, RunningCandidate},
        decision_record::{Decisions, Record},
    },
};
use crate::{
    base::{clock::Random, log::AccessLog},
    observe::{
        access_log::Line,
        request_id::{FIELD, RequestId},
    },
};

/// The observations to make for each request.
#[derive(Clone, Debug)]
pub(crate) struct Observing {
    request_ids: bool,
    access_log: AccessLog,
    #[cfg(feature = "manifest")]
    decisions: Option<Arc<Decisions>>,
    #[cfg(feature = "manifest")]
    candidate: Option<Arc<RunningCandidate>>,
    is_wanted: bool,
}

impl Observing {
    pub(crate) fn new(request_ids: bool, access_log: AccessLog) -> Self {
        let is_wanted = request_ids || access_log.is_on();
        Self {
            request_ids,
            access_log,
            #[cfg(feature = "manifest")]
            decisions: None,
            #[cfg(feature = "manifest")]
            candidate: None,
            is_wanted,
        }
    }

    #[cfg(feature = "manifest")]
    pub(crate) fn with_policies(
        self,
        decisions: Option<Arc<Decisions>>,
        candidate: Option<Arc<RunningCandidate>>,
    ) -> Self {
        let is_wanted = self.is_wanted || decisions.is_some() || candidate.is_some();
        Self { decisions, candidate, is_wanted, ..self }
    }

    pub(crate) fn access_log(&self) -> &AccessLog {
        &self.access_log
    }

    /// Whether there is anything to observe. This is checked for each request.
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted
    }
}

/// A request in flight, in an app that observes requests.
#[derive(Debug)]
pub(crate) struct Observation {
    id: Option<RequestId>,
    line: Option<Line>,
    #[cfg(feature = "manifest")]
    record: Option<Record>,
    #[cfg(feature = "manifest")]
    comparison: Option<Comparison>,
}

impl Observation {
    /// Begins to observe a request.
    pub(crate) fn begin<B>(
        observing: &Observing,
        random: &Random,
        request: &mut Request<B>,
        client: Option<IpAddr>,
        is_trusted: bool,
    ) -> Self {
        let mut id = None;
        if observing.request_ids {
            id = RequestId::give(request.headers_mut(), is_trusted, random);
            if let Some(id) = &id {
                request.extensions_mut().insert(id.clone());
            }
        }
        let line = Line::begin(&observing.access_log, request, client, id.clone());
        #[cfg(feature = "manifest")]
        let record = observing.decisions.as_ref();
        #[cfg(feature = "manifest")]
        let record = record.and_then(|decisions| Record::begin(decisions, request, id.clone()));
        Self {
            id,
            line,
            #[cfg(feature = "manifest")]
            record,
            #[cfg(feature = "manifest")]
            comparison: observing.candidate.as_ref().map(Comparison::new),
        }
    }

    pub(crate) fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    /// Notes the head of the request, as the gates read it.
    #[cfg(feature = "manifest")]
    pub(crate) fn received(&mut self, head: &Head<'_>, headers: &HeaderMap, clock: &Clock) {
        if let Some(comparison) = &mut self.comparison {
            comparison.received(head, headers, clock.steady());
        }
    }

    /// Notes that the gates of the head let the request through to this route.
    #[cfg(feature = "manifest")]
    pub(crate) fn on_admission(
        &mut self,
        route: &RouteAuth,
        handler: Option<&Description>,
        has_callback: bool,
        auth: Option<&Arc<RequestAuth>>,
    ) {
        if let Some(comparison) = &mut self.comparison {
            comparison.on_admission(route, handler, has_callback, auth);
        }
    }

    /// Notes the trace of the request.
    pub(crate) fn traced(&mut self, trace: &TraceContext) {
        if let Some(line) = &mut self.line {
            line.traced(trace);
        }
    }

    pub(crate) fn routed(&mut self, path: &Arc<str>) {
        if let Some(line) = &mut self.line {
            line.routed(path);
        }
        #[cfg(feature = "manifest")]
        if let Some(record) = &mut self.record {
            record.routed(path);
        }
        #[cfg(feature = "manifest")]
        if let Some(comparison) = &mut self.comparison {
            comparison.routed(path);
        }
    }

    /// Adds the id to the response, and follows it for the access log.
    pub(crate) fn on_response(self, mut response: Response) -> Response {
        if let Some(id) = self.id {
            response.headers_mut().insert(FIELD, id.value().clone());
        }
        #[cfg(feature = "manifest")]
        if let Some(record) = self.record {
            record.on_response(&response);
        }
        #[cfg(feature = "manifest")]
        if let Some(comparison) = self.comparison {
            comparison.on_response(&response);
        }
        match self.line {
            Some(line) => line.on_response(response),
            None => response,
        }
    }
}
