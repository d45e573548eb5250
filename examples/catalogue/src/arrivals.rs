//! The requests that arrived at the catalogue, and their responses, which the page compares with
//! what the browser reports.

use axum::{extract::State, middleware::Next};
use example_look::Recent;
use policy_server::{Request, Response};
use serde::Serialize;

/// The last requests.
#[derive(Clone, Default)]
pub(crate) struct Arrivals(Recent<Arrival>);

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
        self.0.filter(|arrival| arrival.target == target)
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
    arrivals.0.push(Arrival { method, status: response.status().as_u16(), target });
    response
}
