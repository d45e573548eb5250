//! The requests that arrived at the API. Preflights never reach a handler, so a layer around the
//! app records them, and the pages can show what the browser really sent.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use axum_core::extract::Request;
use serde::Serialize;
use tower::util::MapRequestLayer;

/// How many requests are remembered.
const CAPACITY: usize = 1000;

/// The last requests.
#[derive(Clone, Default)]
pub(crate) struct Arrivals(Arc<Mutex<VecDeque<Arrival>>>);

/// The parts of a request that the pages show.
#[derive(Clone, Serialize)]
pub(crate) struct Arrival {
    method: String,
    preflight: bool,
    /// The query, by which a page finds its own requests.
    #[serde(skip)]
    query: String,
}

impl Arrivals {
    /// A layer that records every request and passes it on.
    pub(crate) fn layer(
        &self,
    ) -> MapRequestLayer<impl Fn(Request) -> Request + Clone + Send + Sync + 'static> {
        let seen = self.clone();
        MapRequestLayer::new(move |request| {
            seen.note(&request);
            request
        })
    }

    /// The requests with this query, in the order in which they arrived.
    pub(crate) fn with_query(&self, query: &str) -> Vec<Arrival> {
        let arrivals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.iter().filter(|arrival| arrival.query == query).cloned().collect()
    }

    fn note(&self, request: &Request) {
        let arrival = Arrival {
            method: request.method().to_string(),
            // Fetch, 3.3.2: what makes an OPTIONS request a preflight.
            preflight: request.method() == "OPTIONS"
                && request.headers().contains_key("access-control-request-method"),
            query: request.uri().query().unwrap_or_default().to_owned(),
        };
        let mut arrivals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if arrivals.len() == CAPACITY {
            arrivals.pop_front();
        }
        arrivals.push_back(arrival);
    }
}
