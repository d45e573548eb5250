//! The result of a load.

use http::{HeaderMap, StatusCode, header::SET_COOKIE};
use policy_browser::{
    Blocked, Outcome, Response, SentRequest, ServerResponse, State, WithheldCookie,
};
use serde::de::DeserializeOwned;

use super::{
    Browser, Tab,
    client::{json, text},
    console,
};
use crate::pipeline::explain::RouteFinding;

/// The result of a load as the page sees it: without what the browser hides.
///
/// ```
/// use policy_server::{prelude::*, testing::{Browser, Fetch, Network}};
///
/// #[get("/lamps")]
/// #[auth(public)]
/// async fn lamps() -> &'static str {
///     "12 lamps"
/// }
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let app = App::new(()).public_origin("https://api.shop.example").routes(routes![lamps]);
/// let net = Network::new().host("https://api.shop.example", app.into_service());
/// let page = Browser::webkit().open("https://app.shop.example");
/// let lamps = page.fetch(&net, Fetch::get("https://api.shop.example/lamps")).await;
/// assert!(lamps.is_blocked(), "the route is shared with nobody");
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Fetched {
    browser: Browser,
    outcome: Outcome,
    last: Option<Exchange>,
}

/// The last request of a load, and its response.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) request: SentRequest,
    pub(super) response: Option<ServerResponse>,
    /// The route and attribute that decided it.
    pub(super) decider: Option<RouteFinding>,
    /// The cookies of the response that the browser did not store.
    pub(super) not_stored: Vec<WithheldCookie>,
}

impl Exchange {
    /// The cookies of the response that a browser in this state does not have.
    pub(super) fn not_stored(&self, state: &State) -> Vec<WithheldCookie> {
        let Some(response) = &self.response else { return Vec::new() };
        let is_set = |name: &str| {
            response.headers.get_all(SET_COOKIE).iter().any(|line| {
                let pair = line.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
                let own = pair.split(|byte| *byte == b'=').next().unwrap_or_default();
                own.trim_ascii() == name.as_bytes()
            })
        };
        let all = state.cookies().not_stored(&self.request.url);
        all.filter(|cookie| is_set(&cookie.name)).cloned().collect()
    }
}

impl Fetched {
    pub(super) fn new(browser: Browser, outcome: Outcome, last: Option<Exchange>) -> Self {
        Self { browser, outcome, last }
    }

    /// The status code.
    ///
    /// # Panics
    ///
    /// As [`response`](Self::response), and if the browser hides the status, so that the page sees
    /// 0: for another origin in mode `no-cors`, and for a redirect that is not followed.
    #[track_caller]
    #[expect(clippy::panic, reason = "a panic shows the response to the test")]
    pub fn status(&self) -> StatusCode {
        match StatusCode::from_u16(self.response().status) {
            Ok(status) => status,
            Err(_) => panic!(
                "the browser hides the status from the page, which sees 0: ask for \
                 `response().status`"
            ),
        }
    }

    /// The first field of that name that the page may read and that is visible ASCII.
    ///
    /// # Panics
    ///
    /// As [`response`](Self::response).
    #[track_caller]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().get(name)?.to_str().ok()
    }

    /// All fields that the page may read.
    ///
    /// # Panics
    ///
    /// As [`response`](Self::response).
    #[track_caller]
    pub fn headers(&self) -> &HeaderMap {
        &self.response().headers
    }

    /// The content as text.
    ///
    /// # Panics
    ///
    /// As [`response`](Self::response), and if it is not UTF-8.
    #[track_caller]
    pub fn text(&self) -> &str {
        text("content", &self.response().body)
    }

    /// The content read as JSON.
    ///
    /// # Panics
    ///
    /// As [`response`](Self::response), and if it is not JSON, or of another shape.
    #[track_caller]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        json("content", &self.response().body)
    }

    /// The part of the response that the page may see, also for a document.
    ///
    /// # Panics
    ///
    /// If there is no response: with the text of the [console](Self::console) if the browser
    /// blocked it; a script and a WebSocket have no response to show.
    #[track_caller]
    pub fn response(&self) -> &Response {
        match &self.outcome {
            Outcome::Response(response) | Outcome::Page(_, response) => response,
            _ => self.is_no("response"),
        }
    }

    /// The text of the script that ran, as the page obeys it and cannot read it.
    ///
    /// # Panics
    ///
    /// If no script ran, or it is not UTF-8.
    #[track_caller]
    pub fn script(&self) -> &str {
        let Outcome::Script(script) = &self.outcome else { self.is_no("script") };
        text("script", script)
    }

    /// The page that was loaded, by a navigation or into a frame.
    ///
    /// # Panics
    ///
    /// If no page was loaded.
    #[track_caller]
    pub fn tab(&self) -> Tab {
        let Outcome::Page(page, _) = &self.outcome else { self.is_no("document") };
        Tab::new(self.browser.clone(), page.clone())
    }

    /// Whether a WebSocket is open.
    pub fn is_open(&self) -> bool {
        matches!(self.outcome, Outcome::Open)
    }

    /// Whether the browser blocked the load.
    pub fn is_blocked(&self) -> bool {
        self.blocked().is_some()
    }

    /// Why the browser blocked the load.
    pub fn blocked(&self) -> Option<&Blocked> {
        match &self.outcome {
            Outcome::Blocked(blocked) => Some(blocked),
            _ => None,
        }
    }

    /// The text of the browser's console about a load that was blocked or failed, or whose cookie is not
    /// stored, and what consoles do not show: the response of the server, the route and attributes that
    /// decided, the cookies that were withheld, and what the browser would have needed.
    pub fn console(&self) -> Option<String> {
        console::text(&self.outcome, self.last.as_ref())
    }

    #[track_caller]
    #[expect(clippy::panic, reason = "a panic shows the response to the test")]
    fn is_no(&self, what: &str) -> ! {
        let found = match &self.outcome {
            Outcome::Blocked(_) => {
                panic!("the browser blocked it\n{}", self.console().unwrap_or_default())
            }
            Outcome::Response(response) => format!("a response of status {}", response.status),
            Outcome::Script(_) => "a script, which ran: ask for `script()`".to_owned(),
            Outcome::Page(page, _) => format!("a document at {}", page.url),
            Outcome::Open => "an open WebSocket: ask for `is_open()`".to_owned(),
        };
        panic!("the page got no {what} but {found}")
    }
}
