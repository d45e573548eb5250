//! One load against a list of responses, for the tests of this module.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::{Fetch, Outcome, Page, Profile, Reason, SentRequest, ServerResponse, State, Url, run};

/// A page of `https://app.test`.
pub(crate) fn app() -> Page {
    page("https://app.test/")
}

pub(crate) fn page(url: &str) -> Page {
    Page::at(self::url(url))
}

pub(crate) fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

pub(crate) fn response(status: u16, fields: &[(&str, &str)]) -> ServerResponse {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    ServerResponse { status, headers, body: b"content".to_vec() }
}

/// A browser by the standards, without any data.
pub(crate) fn browser() -> State {
    engine(Profile::STANDARD)
}

/// A browser of this kind, without any data.
pub(crate) fn engine(profile: Profile) -> State {
    State::new(profile, Duration::from_secs(1_800_000_000))
}

/// The course of a load.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) state: State,
    pub(crate) outcome: Outcome,
    pub(crate) sent: Vec<SentRequest>,
}

/// A load in a new browser, which must request exactly these responses.
pub(crate) fn load(page: &Page, fetch: Fetch, responses: &[ServerResponse]) -> Trial {
    load_by(Profile::STANDARD, page, fetch, responses)
}

/// The same in a new browser of this kind.
pub(crate) fn load_by(
    profile: Profile,
    page: &Page,
    fetch: Fetch,
    responses: &[ServerResponse],
) -> Trial {
    load_in(engine(profile), Some(page), fetch, responses)
}

pub(crate) fn load_in(
    state: State,
    page: Option<&Page>,
    fetch: Fetch,
    responses: &[ServerResponse],
) -> Trial {
    let mut sent = Vec::new();
    let (state, outcome) = run(state, page, fetch, |request| {
        sent.push(request.clone());
        responses
            .get(sent.len() - 1)
            .cloned()
            .unwrap_or_else(|| panic!("not expected: {request:?}"))
    });
    assert_eq!(sent.len(), responses.len(), "{outcome:?}");
    Trial { state, outcome, sent }
}

impl Trial {
    /// A field of the last request.
    pub(crate) fn last(&self, name: &str) -> Option<&str> {
        self.sent.last().unwrap().headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn reason(&self) -> &Reason {
        &self.outcome.blocked().unwrap_or_else(|| panic!("{:?}", self.outcome)).reason
    }
}
