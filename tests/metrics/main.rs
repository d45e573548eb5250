//! The metrics of an app: what they count, that clients cannot add to them, and that Prometheus reads them.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "what a test cannot do without fails it"
)]

mod cardinality;
mod endpoints;
mod openmetrics;
mod others;
mod process;
mod prometheus;
mod requests;

use openmetrics::Exposition;
use policy_server::Metrics;

fn read(metrics: &Metrics) -> Exposition {
    Exposition::parse(&metrics.text())
}
