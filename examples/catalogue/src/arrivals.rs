//! The requests that arrived at the catalogue, and their responses, which the page compares with
//! what the browser reports.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{extract::State, middleware::Next};
use policy_server::{Request, Response};
use serde::Serialize;

/// How many requests are remembered.
const CAPACITY: usize = 1000;

/// The last requests.
#[derive(Clone, Default)]
pub(crate) struct Arrivals(Arc<Mutex<VecDeque<Arrival>>>);

#[derive(Clone, Serialize)]
pub(crate) struct Arrival {
    method: String,
    status: u16,
    /// Path and query.
    #[serde(skip)]
    target: String,
}

impl Arrivals {
    /// The requests for a path and query, in the order of their responses.
    pub(crate) fn for_target(&self, target: &str) -> Vec<Arrival> {
        let arrivals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.iter().filter(|arrival| arrival.target == target).cloned().collect()
    }

    fn note(&self, arrival: Arrival) {
        let mut arrivals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if arrivals.len() == CAPACITY {
            arrivals.pop_front();
        }
        arrivals.push_back(arrival);
    }
}

/// A layer around the app: it also sees what no handler sees, such as 304 and refusals.
pub(crate) async fn note(
    State(arrivals): State<Arrivals>,
    request: Request,
    next: Next,
) -> Response {
    let (method, target) = (request.method().to_string(), request.uri().to_string());
    let response = next.run(request).await;
    arrivals.note(Arrival { method, status: response.status().as_u16(), target });
    response
}
