//! What an engine decides, and why.

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use policy_core::Refusal;

/// The gates of a request, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Whether all parsers read the request alike.
    Wire,
    /// Whether it is for this server.
    OwnOrigin,
    /// Which route serves it.
    Route,
    /// Which page sent it; preflights end here.
    Cors,
    /// How the page loads it.
    FetchMetadata,
    /// The rate of its address.
    AddressRate,
    /// Who sent it.
    Authenticate,
    /// Whether the user intended it.
    Csrf,
    /// Whether they have the rights.
    Authorize,
    /// The rate of the principal, and a permit.
    Limits,
    /// Whether its body is too long.
    Body,
    /// Whether what serves the route can take it: the media type of QUERY, the function of JSONP.
    Target,
}

impl Gate {
    /// All gates, in their order.
    pub const ALL: [Self; 12] = [
        Self::Wire,
        Self::OwnOrigin,
        Self::Route,
        Self::Cors,
        Self::FetchMetadata,
        Self::AddressRate,
        Self::Authenticate,
        Self::Csrf,
        Self::Authorize,
        Self::Limits,
        Self::Body,
        Self::Target,
    ];

    /// Its name, as the file of the gate has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::OwnOrigin => "own_origin",
            Self::Route => "route",
            Self::Cors => "cors",
            Self::FetchMetadata => "fetch_metadata",
            Self::AddressRate => "address_rate",
            Self::Authenticate => "authenticate",
            Self::Csrf => "csrf",
            Self::Authorize => "authorize",
            Self::Limits => "limits",
            Self::Body => "body",
            Self::Target => "target",
        }
    }

    /// The facet of a route that decides at this gate.
    pub const fn facet(self) -> Option<&'static str> {
        match self {
            Self::Wire | Self::OwnOrigin | Self::Route => None,
            Self::Target => Some("jsonp"),
            Self::Cors => Some("cors"),
            Self::FetchMetadata => Some("isolation"),
            Self::Authenticate | Self::Authorize => Some("auth"),
            Self::Csrf => Some("csrf"),
            Self::AddressRate | Self::Limits | Self::Body => Some("limits"),
        }
    }
}

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
