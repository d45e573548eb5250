//! What is observed of one request: its id and its entry in the access log.

use std::{net::IpAddr, sync::Arc};

use axum_core::response::Response;
use http::Request;

use crate::{
    base::clock::Random,
    observe::{
        access_log::Line,
        request_id::{FIELD, RequestId},
    },
};

/// What to observe of each request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observing {
    pub(crate) request_ids: bool,
    pub(crate) access_log: bool,
}

impl Observing {
    pub(crate) fn is_wanted(self) -> bool {
        self.request_ids || self.access_log
    }
}

/// A request in flight, in an app with request ids or an access log.
#[derive(Debug)]
pub(crate) struct Observation {
    id: Option<RequestId>,
    line: Option<Line>,
}

impl Observation {
    /// Begins to observe a request.
    pub(crate) fn begin<B>(
        observing: Observing,
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
        Self { id, line }
    }

    pub(crate) fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    pub(crate) fn routed(&mut self, path: &Arc<str>) {
        if let Some(line) = &mut self.line {
            line.routed(path);
        }
    }

    /// Adds the id to the response, and follows it for the access log.
    pub(crate) fn answered(self, mut response: Response) -> Response {
        if let Some(id) = self.id {
            response.headers_mut().insert(FIELD, id.value().clone());
        }
        match self.line {
            Some(line) => line.answered(response),
            None => response,
        }
    }
}
