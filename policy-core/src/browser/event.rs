//! What a browser is told, and what it does about it.

use std::time::Duration;

use http::{HeaderMap, Method};
use url::Url;

use super::{Fetch, Outcome, Page};

/// Names one load among those that run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoadId(pub u64);

/// What happens to a browser.
#[derive(Clone, Debug)]
pub enum Event {
    /// A page loads something; without a page it is the address bar.
    Start {
        /// The name of the load from now on.
        id: LoadId,
        /// The page that asks for it.
        page: Option<Page>,
        /// What is asked for.
        fetch: Fetch,
    },
    /// A server answers an [`Output::Request`].
    Response {
        /// The load whose request it was.
        id: LoadId,
        /// What it says.
        response: ServerResponse,
    },
    /// No server could be reached, or it said nothing that is HTTP.
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

/// What a browser does.
#[derive(Clone, Debug)]
pub enum Output {
    /// It sends a request, and waits for [`Event::Response`] or [`Event::Unreachable`].
    Request {
        /// The load that it belongs to.
        id: LoadId,
        /// The request.
        request: Sent,
    },
    /// A load has ended.
    Done {
        /// Its name, free again.
        id: LoadId,
        /// What the page got.
        outcome: Outcome,
    },
}

/// A request as it leaves a browser. Fields that say nothing about policy (`User-Agent`,
/// `Accept-Encoding`, ..) are left out.
#[derive(Clone, Debug)]
pub struct Sent {
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
}

/// What a server answers.
#[derive(Clone, Debug, Default)]
pub struct ServerResponse {
    /// The status code.
    pub status: u16,
    /// The fields.
    pub headers: HeaderMap,
    /// The content.
    pub body: Vec<u8>,
}
