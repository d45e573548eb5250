//! The requests that arrived at the API. Preflights never reach a handler, so a layer around the
//! app records them, and the pages can show what the browser really sent.

use axum_core::extract::Request;
use example_look::Recent;
use serde::Serialize;
use tower::util::MapRequestLayer;

/// The last requests.
#[derive(Clone, Default)]
pub(crate) struct Arrivals(Recent<Arrival>);

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
        let arrivals = self.clone();
        MapRequestLayer::new(move |request| {
            arrivals.note(&request);
            request
        })
    }

    /// The requests with this query, in the order in which they arrived.
    pub(crate) fn with_query(&self, query: &str) -> Vec<Arrival> {
        self.0.filter(|arrival| arrival.query == query)
    }

    fn note(&self, request: &Request) {
        self.0.push(Arrival {
            method: request.method().to_string(),
            // Fetch, 3.3.2: what makes an OPTIONS request a preflight.
            preflight: request.method() == "OPTIONS"
                && request.headers().contains_key("access-control-request-method"),
            query: request.uri().query().unwrap_or_default().to_owned(),
        });
    }
}
