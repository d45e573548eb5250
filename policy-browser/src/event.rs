//! The events and outputs of a browser.

use std::time::Duration;

use http::{HeaderMap, Method};
use url::Url;

use crate::{Fetch, Outcome, Page, WithheldCookie};

/// Names one load among those that run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoadId(pub u64);

/// An event for a browser.
#[derive(Clone, Debug)]
pub enum Event {
    /// A page starts a load; without a page, the address bar does.
    Start {
        /// The name of the load from now on.
        id: LoadId,
        /// The page that starts the load.
        page: Option<Page>,
        /// The request of the page.
        fetch: Fetch,
    },
    /// A server responds to an [`Output::Request`].
    Response {
        /// The load whose request it was.
        id: LoadId,
        /// The response.
        response: ServerResponse,
    },
    /// No server could be reached, or its response was not HTTP.
    Unreachable {
        /// The load whose request it was.
        id: LoadId,
    },
    /// A script writes to `document.cookie`.
    WriteCookie {
        /// The page of the script.
        page: Page,
        /// What it writes: `name=value; attribute=..`.
        text: String,
    },
    /// Time passes.
    Elapse(Duration),
}

/// An action of a browser.
#[derive(Clone, Debug)]
pub enum Output {
    /// It sends a request, and waits for [`Event::Response`] or [`Event::Unreachable`].
    Request {
        /// The load that it belongs to.
        id: LoadId,
        /// The request.
        request: SentRequest,
    },
    /// A load has ended.
    Done {
        /// Its name, free again.
        id: LoadId,
        /// The result for the page.
        outcome: Outcome,
    },
}

/// A request as a browser sends it. Headers that no policy uses (`User-Agent`,
/// `Accept-Encoding`, ..) are left out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SentRequest {
    /// Its method, byte for byte.
    pub method: Method,
    /// Where it goes, without fragment.
    pub url: Url,
    /// Its fields.
    pub headers: HeaderMap,
    /// Its content, if it has any.
    pub body: Option<Vec<u8>>,
    /// Whether this is a CORS-preflight request.
    pub is_preflight: bool,
    /// The cookies for its URL that the browser did not send, or had not stored.
    pub withheld: Vec<WithheldCookie>,
}

impl SentRequest {
    /// A request without fields and without content.
    pub fn new(method: Method, url: Url) -> Self {
        let headers = HeaderMap::new();
        Self { method, url, headers, body: None, is_preflight: false, withheld: Vec::new() }
    }
}

/// The response of a server.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ServerResponse {
    /// The status code.
    pub status: u16,
    /// The fields.
    pub headers: HeaderMap,
    /// The content.
    pub body: Vec<u8>,
}

impl ServerResponse {
    /// A response with these parts.
    pub fn new(status: u16, headers: HeaderMap, body: Vec<u8>) -> Self {
        Self { status, headers, body }
    }
}
