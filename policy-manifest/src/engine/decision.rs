//! The decisions of an engine, and their reasons.

use http::HeaderMap;

use policy_core::{Refusal, gates::Gate};

/// The result of one gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The gate.
    pub gate: Gate,
    /// The verdict of the gate.
    pub verdict: Verdict,
}

/// The verdict of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request continues.
    Passed,
    /// The route has no requirement at this gate.
    NotAsked,
    /// The request ends here, and not because it is refused: a granted preflight, OPTIONS, TRACE.
    Ended,
    /// The request ends here.
    Refused(Refusal),
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It reaches the handler, the mounted service, the upstream or the tunnel.
    Reached,
    /// It is a preflight, and the request that it announces may be sent.
    PreflightGranted,
    /// The server responds automatically, as to OPTIONS.
    Automatic,
    /// It is refused.
    Refused(Refusal),
}

/// A decision about one request.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The outcome.
    pub outcome: Outcome,
    /// The status; `None` if the handler decides.
    pub status: Option<u16>,
    /// The index of the route whose policy the response carries, in the order of the manifest.
    pub route: Option<usize>,
    /// The gates that were reached, in their order.
    pub steps: Vec<Step>,
    /// Whether the deciding credential identifies a caller.
    pub is_authenticated: bool,
    /// The CORS headers of the response, with `Vary: origin` if the response depends on it.
    pub cors: HeaderMap,
    /// The run-time list that has to name the origin of the request for this decision and its CORS
    /// headers: the engine does not know its entries, and assumes that it does.
    pub if_listed: Option<String>,
}

impl Decision {
    /// The refusal, if it is refused.
    pub fn refusal(&self) -> Option<Refusal> {
        match self.outcome {
            Outcome::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }
}
