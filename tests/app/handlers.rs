//! Handlers that several modules use.

use std::sync::Arc;

use policy_server::prelude::*;
pub(crate) use policy_tests::handlers::{hello, panics};
use tokio::sync::Semaphore;

/// Handlers that wait take one permit each, which the test adds.
pub(super) type Gate = Arc<Semaphore>;

pub(super) fn gate() -> Gate {
    Arc::new(Semaphore::new(0))
}

#[get("/missing")]
#[auth(public)]
pub(super) async fn missing() -> Result<String, Problem> {
    Err(Problem::not_found().code("lamps.missing"))
}

#[get("/wait")]
#[auth(public)]
pub(super) async fn wait(State(gate): State<Gate>) -> &'static str {
    gate.acquire().await.expect("a gate").forget();
    "waited"
}
