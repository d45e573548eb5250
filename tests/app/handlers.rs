//! Handlers that several subjects ask.

use std::sync::Arc;

use policy_server::prelude::*;
use tokio::sync::Semaphore;

/// Lets handlers wait for the test: they take one permit each.
pub(super) type Gate = Arc<Semaphore>;

pub(super) fn gate() -> Gate {
    Arc::new(Semaphore::new(0))
}

#[get("/hello")]
#[auth(public)]
pub(super) async fn hello() -> &'static str {
    "hello"
}

#[get("/missing")]
#[auth(public)]
pub(super) async fn missing() -> Result<String, Problem> {
    Err(Problem::not_found().code("lamps.missing"))
}

#[get("/panic")]
#[auth(public)]
pub(super) async fn panics() -> String {
    panic!("a panic on purpose")
}

/// Answers when the test says so.
#[get("/wait")]
#[auth(public)]
pub(super) async fn wait(State(gate): State<Gate>) -> &'static str {
    gate.acquire().await.expect("a gate").forget();
    "waited"
}
