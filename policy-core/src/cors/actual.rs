//! The CORS headers of every response except preflight responses.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS,
        ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
        ACCESS_CONTROL_MAX_AGE,
    },
};

use super::compiled::{Audience, Cors};
use crate::{head::Single, vary};

/// The decision about the origin of a request, with the header value for the response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "pass it to `Cors::apply`, which writes it into the response"]
pub enum OriginDecision {
    /// The request has no `Origin`, or the policy allows every origin.
    Unasked,
    /// The policy grants this origin.
    Origin(HeaderValue),
    /// The policy does not grant the origin, or there is more than one.
    Refused,
}

impl OriginDecision {
    /// Whether the page that sent a request with this `Origin` is granted: by name, or because the
    /// deciding `policy` shares responses with every origin.
    pub fn grants(&self, origin: Single<'_>, policy: Option<&Cors>) -> bool {
        match (origin, self) {
            (Single::One(_), Self::Origin(_)) => true,
            (Single::One(_), _) => policy.is_some_and(Cors::is_any_origin),
            (Single::Absent | Single::Repeated, _) => false,
        }
    }
}

impl Cors {
    /// Decides about the origin of a request (Fetch, 3.3.4). It does not decide whether the handler
    /// runs: that is independent of whether a page may read the response.
    /// If a path parameter selects the origins ([`key`](Self::key)), no origin is granted: use
    /// [`decide_origin_of`](Self::decide_origin_of) with its value.
    pub fn decide_origin(&self, origin: Single<'_>) -> OriginDecision {
        self.decide_origin_of(None, origin)
    }

    /// As [`decide_origin`](Self::decide_origin), with the value of the path parameter that selects
    /// the origins, as it is encoded in the path.
    pub fn decide_origin_of(&self, key: Option<&str>, origin: Single<'_>) -> OriginDecision {
        let echo = match (&self.audience, origin) {
            (Audience::Any, _) | (_, Single::Absent) => return OriginDecision::Unasked,
            (_, Single::Repeated) => None,
            (Audience::Listed(set), Single::One(value)) => set.echo(value),
            (Audience::Shared(list), Single::One(value)) if self.key().is_none() => {
                list.echo(value)
            }
            (Audience::Shared(list), Single::One(value)) => {
                key.and_then(|key| list.load_for(key)).and_then(|set| set.echo(value))
            }
        };
        echo.map_or(OriginDecision::Refused, OriginDecision::Origin)
    }

    /// Writes the policy onto a response, regardless of its author. CORS headers that a handler
    /// wrote are removed; its `Vary` is kept and completed.
    pub fn apply(&self, grant: OriginDecision, headers: &mut HeaderMap) {
        remove_cors(headers);
        let shared = match grant {
            OriginDecision::Unasked if self.is_any_origin() => Some(ANY),
            OriginDecision::Origin(origin) => Some(origin),
            OriginDecision::Unasked | OriginDecision::Refused => None,
        };
        if !self.is_any_origin() {
            vary::add(headers, vary::VaryToken::Origin);
        }
        if let Some(origin) = shared {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            if self.credentials {
                headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, TRUE);
            }
            if let Some(expose) = &self.expose {
                headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, expose.clone());
            }
        }
    }
}

/// Removes every CORS response header. A response of a route without a CORS policy has none, even
/// if its handler wrote some.
pub fn remove_cors(headers: &mut HeaderMap) {
    if has_cors(headers) {
        for name in &CORS_HEADERS {
            headers.remove(name);
        }
    }
}

// Constants, since `from_static` checks every byte.
const ANY: HeaderValue = HeaderValue::from_static("*");
const TRUE: HeaderValue = HeaderValue::from_static("true");

const CORS_HEADERS: [HeaderName; 6] = [
    ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_ALLOW_CREDENTIALS,
    ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_HEADERS,
    ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE,
];

/// Whether a handler wrote CORS headers; most do not.
fn has_cors(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| name.as_str().starts_with("access-control-"))
}
