//! The engine and a browser together, whatever the handlers do.

mod caches;
mod isolation;
mod origins;
mod preflights;
mod reads;
mod revocations;
mod transports;

use http::HeaderMap;
use policy_browser::{
    Credentials, Fetch, Mode, Outcome, Page, Profile, SentRequest, ServerResponse, State, run,
};

use crate::{
    exchange::{Request, elements},
    fetch::SAFELISTED_METHODS,
    law::{Judged, Precondition},
    oracle::{self, CorsRequest},
    scenario::{OWN, Scenario, Site},
};

/// The CORS response headers.
pub(crate) const SHARING: [&str; 6] = [
    "access-control-allow-origin",
    "access-control-allow-credentials",
    "access-control-allow-methods",
    "access-control-allow-headers",
    "access-control-expose-headers",
    "access-control-max-age",
];

pub(crate) const ASKED_METHOD: &str = "access-control-request-method";

pub(crate) fn met_if(precondition: bool) -> Judged {
    Ok(Precondition::met_if(precondition))
}

pub(crate) fn lines(headers: &HeaderMap, name: &str) -> Vec<Vec<u8>> {
    headers.get_all(name).iter().map(|line| line.as_bytes().to_vec()).collect()
}

pub(crate) fn vary(headers: &HeaderMap) -> Vec<String> {
    elements(headers, "vary").iter().map(|token| token.to_lowercase()).collect()
}

pub(crate) fn shares_nothing(headers: &HeaderMap) -> bool {
    !headers.keys().any(|name| name.as_str().starts_with("access-control-"))
}

/// The method whose policy decides about a request: for a preflight, the requested one.
pub(crate) fn decided_by(request: &Request) -> String {
    match &*lines(&request.headers, ASKED_METHOD) {
        _ if !request.is_preflight() => request.method.to_string(),
        [method] => String::from_utf8_lossy(method).into_owned(),
        _ => String::new(),
    }
}

/// One request of a load, its response, and the number of handler calls it caused.
#[derive(Clone, Debug)]
pub(crate) struct Hop {
    pub(crate) sent: SentRequest,
    pub(crate) response: ServerResponse,
    pub(crate) calls: usize,
    /// Whether a preflight preceded it.
    pub(crate) was_asked: bool,
    /// Whether another origin had redirected it, so that its origin is opaque.
    pub(crate) is_tainted: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) hops: Vec<Hop>,
    pub(crate) outcome: Outcome,
}

/// A page loads something.
pub(crate) fn load(site: &Site, state: State, page: &Page, fetch: Fetch) -> (State, Visit) {
    let mut hops: Vec<Hop> = Vec::new();
    let (state, outcome) = run(state, Some(page), fetch, |sent| {
        site.calls();
        let response = site.serve(sent);
        let before = hops.last();
        let is_tainted = before.is_some_and(|hop| hop.is_tainted || !is_ours(&hop.sent));
        let was_asked = before.is_some_and(|hop| hop.sent.is_preflight);
        let (sent, calls) = (sent.clone(), site.calls().len());
        hops.push(Hop { sent, response: response.clone(), calls, was_asked, is_tainted });
        response
    });
    (state, Visit { hops, outcome })
}

pub(crate) fn is_ours(sent: &SentRequest) -> bool {
    sent.url.origin().ascii_serialization() == OWN
}

impl Hop {
    pub(crate) fn path(&self) -> &str {
        self.sent.url.path()
    }

    pub(crate) fn origin(&self, page: &Page) -> String {
        if self.is_tainted { "null".to_owned() } else { page.origin.to_string() }
    }

    /// The request as its preflight described it: in some engines, without the taint of a redirect.
    pub(crate) fn as_asked(&self, profile: &Profile) -> Self {
        Self { is_tainted: self.is_tainted && profile.preflights_know_taint, ..self.clone() }
    }

    /// The headers of the script that are still on this request and need a permission.
    pub(crate) fn unsafe_names(&self, fetch: &Fetch) -> Vec<String> {
        let headers = fetch.headers.iter().map(|(name, value)| (&**name, &**value));
        oracle::unsafe_names(headers.filter(|(name, _)| self.sent.headers.contains_key(*name)))
    }

    /// Whether this request of a script needs a preflight (Fetch, 4.1).
    pub(crate) fn needs_preflight(&self, profile: &Profile, fetch: &Fetch) -> bool {
        // A redirect may have dropped it.
        let has_content =
            fetch.body.is_some() && (self.sent.is_preflight || self.sent.body.is_some());
        let is_watched = fetch.watches_upload && (has_content || profile.watches_empty_uploads);
        fetch.mode == Mode::Cors
            && (is_watched
                || fetch.streams_body
                || !SAFELISTED_METHODS.contains(&self.sent.method.as_str())
                || !self.unsafe_names(fetch).is_empty())
    }

    /// Whether the policies grant it, by the oracle.
    pub(crate) fn is_granted(
        &self,
        scenario: &Scenario,
        profile: &Profile,
        page: &Page,
        fetch: &Fetch,
    ) -> bool {
        let wanted = CorsRequest {
            origin: &self.origin(page),
            includes_credentials: fetch.credentials == Credentials::Include,
            method: self.sent.method.as_str(),
            unsafe_names: &self.unsafe_names(fetch),
            is_preflighted: self.needs_preflight(profile, fetch),
            star_allows_authorization: profile.star_allows_authorization,
        };
        scenario.grants(self.path(), &wanted)
    }
}
