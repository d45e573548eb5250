//! What an engine decides, and why.

use http::HeaderMap;

use policy_core::{Refusal, gates::Gate};

/// What one gate found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The gate.
    pub gate: Gate,
    /// What it found.
    pub verdict: Verdict,
}

/// What a gate found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request goes on.
    Passed,
    /// The route asks nothing here.
    NotAsked,
    /// The request ends here, and not because it is refused: a granted preflight, OPTIONS, TRACE.
    Ended,
    /// The request ends here.
    Refused(Refusal),
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It reaches the handler, the mounted service, the upstream or the tunnel.
    Reached,
    /// It is a preflight, and the request that it announces may be sent.
    PreflightGranted,
    /// The server responds by itself, as to OPTIONS.
    Automatic,
    /// It is refused.
    Refused(Refusal),
}

/// A decision about one request.
#[derive(Clone, Debug)]
pub struct Decision {
    /// What becomes of it.
    pub outcome: Outcome,
    /// The status; `None` where the handler decides.
    pub status: Option<u16>,
    /// The index of the route whose policy the response carries, in the order of the manifest.
    pub route: Option<usize>,
    /// The gates that were asked, in their order.
    pub steps: Vec<Step>,
    /// Whether a caller is known: of the credential that counts.
    pub is_authenticated: bool,
    /// The CORS headers of the response, with `Vary: origin` where the response depends on it.
    pub cors: HeaderMap,
}

impl Decision {
    /// The refusal, if it is refused.
    pub fn refusal(&self) -> Option<Refusal> {
        match self.outcome {
            Outcome::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// The gates that were not asked, since the request had ended.
    pub fn not_asked(&self) -> impl Iterator<Item = Gate> + '_ {
        Gate::ALL.into_iter().filter(|gate| self.steps.iter().all(|step| step.gate != *gate))
    }
}
