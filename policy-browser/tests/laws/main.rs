//! Laws of what a browser stores: cookies and responses. Each oracle is written from the RFC and
//! parses nothing: it knows the values from which a field was generated.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]

mod cache;
mod cookies;
mod same_site;

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use policy_browser::{Fetch, Page, Profile, SentRequest, ServerResponse, State, Url, run};

/// 2026-01-01T00:00:00Z
const NOW: u64 = 1_767_225_600;

fn browser(profile: Profile) -> State {
    State::new(profile, Duration::from_secs(NOW))
}

fn url(text: &str) -> Url {
    Url::parse(text).expect("an address")
}

fn response(status: u16, fields: &[(&'static str, String)]) -> ServerResponse {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a field value");
        headers.append(HeaderName::from_static(name), value);
    }
    ServerResponse::new(status, headers, b"content".to_vec())
}

/// A load whose every request gets the same response; returns the last request, if any.
fn load(
    state: State,
    page: Option<&Page>,
    fetch: Fetch,
    response: &ServerResponse,
) -> (State, Option<SentRequest>) {
    let mut last = None;
    let (state, _outcome) = run(state, page, fetch, |request| {
        last = Some(request.clone());
        response.clone()
    });
    (state, last)
}

/// The `Cookie` field of a navigation to an address by the user.
fn cookies_sent(state: State, address: &str) -> Option<String> {
    let (_, sent) = load(state, None, Fetch::navigate(address), &response(204, &[]));
    let value = sent.expect("nothing is cached").headers.get("cookie").cloned();
    value.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}
