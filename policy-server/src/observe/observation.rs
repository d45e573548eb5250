//! What is observed of one request: its id, its entry in the access log, and the record of its decision.

use std::{net::IpAddr, sync::Arc};

use axum_core::response::Response;
use http::Request;

#[cfg(feature = "manifest")]
use crate::observe::decision_record::{Decisions, Record};
use crate::{
    base::clock::Random,
    observe::{
        access_log::Line,
        request_id::{FIELD, RequestId},
    },
};

/// What to observe of each request.
#[derive(Clone, Debug)]
pub(crate) struct Observing {
    pub(crate) request_ids: bool,
    pub(crate) access_log: bool,
    #[cfg(feature = "manifest")]
    pub(crate) decisions: Option<Arc<Decisions>>,
}

impl Observing {
    pub(crate) fn is_wanted(&self) -> bool {
        #[cfg(feature = "manifest")]
        if self.decisions.is_some() {
            return true;
        }
        self.request_ids || self.access_log
    }
}

/// A request in flight, in an app that observes requests.
#[derive(Debug)]
pub(crate) struct Observation {
    id: Option<RequestId>,
    line: Option<Line>,
    #[cfg(feature = "manifest")]
    record: Option<Record>,
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
        let line =
            if observing.access_log { Line::begin(request, client, id.clone()) } else { None };
        #[cfg(feature = "manifest")]
        let record = observing.decisions.as_ref();
        #[cfg(feature = "manifest")]
        let record = record.and_then(|decisions| Record::begin(decisions, request, id.clone()));
        Self {
            id,
            line,
            #[cfg(feature = "manifest")]
            record,
        }
    }

    pub(crate) fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    pub(crate) fn routed(&mut self, path: &Arc<str>) {
        if let Some(line) = &mut self.line {
            line.routed(path);
        }
        #[cfg(feature = "manifest")]
        if let Some(record) = &mut self.record {
            record.routed(path);
        }
    }

    /// Adds the id to the response, and follows it for the access log.
    pub(crate) fn answered(self, mut response: Response) -> Response {
        if let Some(id) = self.id {
            response.headers_mut().insert(FIELD, id.value().clone());
        }
        #[cfg(feature = "manifest")]
        if let Some(record) = self.record {
            record.answered(&response);
        }
        match self.line {
            Some(line) => line.answered(response),
            None => response,
        }
    }
}
