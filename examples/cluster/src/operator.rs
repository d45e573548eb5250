//! The operator, who kills parts and sees their state: a service of its own, so that it is available
//! whichever parts of the cluster are down. Its page is on another origin, which has a grant.

use std::sync::Arc;

use policy_server::prelude::*;
use serde::Serialize;

use crate::{
    front::Backends,
    parts::{Action, Cluster, NAMES},
};

/// The page of the cluster, and no other one, since a caller of this can kill processes.
const PAGE: CorsPolicy =
    CorsPolicy::origins_at_run_time("page").within(&["http://localhost:*"]).build();

#[derive(Clone)]
struct Operator {
    cluster: Arc<Cluster>,
    backends: Arc<Backends>,
}

/// A part and its state.
#[derive(Serialize)]
struct PartStatus {
    name: &'static str,
    /// `ready`, `not ready`, `no response`, `paused`, `gone`, `running`, or `elsewhere`.
    state: &'static str,
}

#[get("/parts")]
#[auth(public)]
async fn parts(State(operator): State<Operator>) -> Json<Vec<PartStatus>> {
    let mut parts = Vec::new();
    for (name, status) in NAMES.into_iter().zip(operator.backends.statuses()) {
        let state = match (operator.cluster.condition(name).await, status) {
            ("running", 200) => "ready",
            ("running", 0) => "no response",
            ("running", _) => "not ready",
            (condition, _) => condition,
        };
        parts.push(PartStatus { name, state });
    }
    let state = operator.cluster.condition("store").await;
    parts.push(PartStatus { name: "store", state });
    Json(parts)
}

#[post("/parts/{name}/{action}")]
#[auth(public)]
async fn act(
    name: String,
    action: String,
    State(operator): State<Operator>,
) -> Result<StatusCode, Problem> {
    let Some(action) = Action::parse(&action) else {
        return Err(Problem::not_found().detail("write kill, start, restart, pause or resume"));
    };
    operator
        .cluster
        .act(&name, action)
        .await
        .map_err(|error| Problem::new(StatusCode::CONFLICT).detail(error.to_string()))?;
    Ok(StatusCode::NO_CONTENT)
}

/// The operator, for the page of this origin.
pub(crate) fn app(
    cluster: Arc<Cluster>,
    backends: Arc<Backends>,
    page: &str,
) -> App<impl Send + Sync + 'static + use<>> {
    App::new(Operator { cluster, backends })
        .policies(Policies::new().cors(PAGE))
        // Pages of other sites cannot send anything here, although nobody logs in.
        .policies(Policies::new().isolation(Isolation::SameOrigin))
        .origins("page", [page])
        .routes(routes![parts, act])
}
