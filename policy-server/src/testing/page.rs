//! A page that calls the app of a test client.

use std::sync::Arc;

use http::HeaderValue;
use policy_browser::{CacheMode, Credentials, Event, Fetch, LoadId, Output, PageOrigin, step};
use policy_core::{
    cookie::presented,
    cors::{Cors, OriginDecision},
    csrf::HEADER,
    head::Single,
    method::is_safe,
};
use serde::Serialize;

use super::{Fetched, Network, Tab};
use crate::{
    auth::session::{PresentedSession, RequestSession},
    pipeline::service::AppService,
};

/// A page of some origin that calls the app of a [`TestClient`](super::TestClient) with `fetch()`, in a
/// model of Chromium: [`TestClient::page`](super::TestClient::page) opens it.
///
/// Each request has what a browser adds: `Origin`, Fetch Metadata, a preflight where one is needed,
/// and the cookies that the browser keeps and sends from this page. `credentials` is `"include"`, and
/// an unsafe request of a logged-in user carries the CSRF token of the session, if the page can read
/// it. The response contains only what the page may read.
///
/// ```
/// use policy_server::prelude::*;
///
/// #[post("/login")]
/// #[cors(origins = ["https://app.shop.example"], credentials)]
/// #[auth(public)]
/// async fn login(sessions: Sessions) -> Result<(), Problem> {
///     Ok(sessions.login("ada").await?)
/// }
///
/// #[post("/transfer/{amount}")]
/// #[cors(origins = ["https://app.shop.example"], credentials)]
/// #[auth(session)]
/// #[object(none = "an amount names nothing")]
/// async fn transfer(amount: u64, me: Principal) -> String {
///     format!("{} pays {amount}", me.subject())
/// }
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let client = App::new(())
///     .public_origin("https://api.shop.example")
///     .sessions(Sessions::memory())
///     .routes(routes![login, transfer])
///     .test();
/// let page = client.page("https://app.shop.example");
/// assert_eq!(page.post("/transfer/5").send().await.status(), 401);
/// page.post("/login").send().await;
/// assert_eq!(page.post("/transfer/5").send().await.text(), "ada pays 5");
///
/// // Of the same user, in the same browser.
/// let evil = client.page("https://evil.example");
/// assert!(evil.post("/transfer/5").send().await.is_blocked());
/// // Somebody else.
/// let stranger = client.another_browser().page("https://app.shop.example");
/// assert_eq!(stranger.post("/transfer/5").send().await.status(), 401);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct TestPage {
    pub(super) tab: Tab,
    pub(super) net: Network,
    /// The origin of the app.
    pub(super) origin: String,
    pub(super) app: Option<AppService>,
}

impl TestPage {
    /// A GET request for a path of the app, with its query if it has one.
    pub fn get(&self, path: &str) -> PageRequest {
        self.request("GET", path)
    }

    /// A POST request.
    pub fn post(&self, path: &str) -> PageRequest {
        self.request("POST", path)
    }

    /// A PUT request.
    pub fn put(&self, path: &str) -> PageRequest {
        self.request("PUT", path)
    }

    /// A PATCH request.
    pub fn patch(&self, path: &str) -> PageRequest {
        self.request("PATCH", path)
    }

    /// A DELETE request.
    pub fn delete(&self, path: &str) -> PageRequest {
        self.request("DELETE", path)
    }

    /// A request with any method, for a path of the app.
    pub fn request(&self, method: &str, path: &str) -> PageRequest {
        let fetch = Fetch::new(method, format!("{}{path}", self.origin));
        PageRequest { page: self.clone(), fetch: fetch.credentials(Credentials::Include) }
    }

    /// The page in the model of the browser, for everything else: navigations, frames, forms.
    pub fn tab(&self) -> &Tab {
        &self.tab
    }

    /// The network of the app, for [`tab`](Self::tab).
    pub fn network(&self) -> &Network {
        &self.net
    }

    /// Whether a script of the page can read the CSRF token: only pages of the app, and pages to which
    /// a route grants requests with credentials, can.
    fn is_trusted(&self) -> bool {
        let (PageOrigin::Tuple(origin), Some(app)) = (&self.tab.page().origin, &self.app) else {
            return false;
        };
        let Ok(value) = HeaderValue::from_str(origin) else { return false };
        let grants = |cors: &Cors| {
            let decision = cors.decide_origin(Single::One(&value));
            cors.allows_credentials() && matches!(decision, OriginDecision::Origin(_))
        };
        let mut policies = app.app().routes.iter().filter_map(|route| route.rules.cors.as_deref());
        *origin == self.origin || policies.any(grants)
    }

    /// The CSRF token of the session whose cookie the browser sends from this page.
    async fn csrf_token(&self) -> Option<String> {
        let sessions = self.app.as_ref()?.app().auth.sessions.as_ref()?;
        let fetch = Fetch::get(&*self.origin).credentials(Credentials::Include);
        let event = Event::Start {
            id: LoadId(0),
            page: Some(self.tab.page().clone()),
            fetch: fetch.cache(CacheMode::NoStore),
        };
        let (_, outputs) = self.tab.browser.look(|state| step(state.clone(), event));
        let request = outputs.into_iter().find_map(|output| match output {
            Output::Request { request, .. } => Some(request),
            Output::Done { .. } => None,
        })?;
        let cookie = presented(&request.headers, sessions.cookie_name()).ok()?;
        let presented = PresentedSession::new(cookie, None);
        let session = RequestSession::new(Arc::clone(sessions), presented);
        session.load().await.ok()?;
        session.csrf_token().ok()?
    }
}

/// A request of a page that is about to be sent.
#[derive(Clone, Debug)]
#[must_use = "it is sent by `send().await`"]
pub struct PageRequest {
    page: TestPage,
    fetch: Fetch,
}

impl PageRequest {
    /// Adds a field. The browser drops it if scripts may not set it.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.fetch = self.fetch.header(name, value);
        self
    }

    /// Sends a value as JSON; `Content-Type` is `application/json` unless one was added before.
    ///
    /// # Panics
    ///
    /// If the value cannot be written as JSON.
    #[track_caller]
    pub fn json(mut self, value: &(impl Serialize + ?Sized)) -> Self {
        self.fetch = self.fetch.json(value);
        self
    }

    /// Sends this body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.fetch = self.fetch.body(body);
        self
    }

    /// The credentials mode; by default `Include`, for which a browser blocks a response that is shared
    /// without `credentials`.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.fetch = self.fetch.credentials(credentials);
        self
    }

    /// Sends the request, and its preflight before it. The CSRF token is added unless the test has set
    /// `x-csrf-token` itself.
    pub async fn send(self) -> Fetched {
        let Self { page, mut fetch } = self;
        let is_set = fetch.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(HEADER));
        if !is_safe(&fetch.method)
            && !is_set
            && fetch.credentials != Credentials::Omit
            && page.is_trusted()
            && let Some(token) = page.csrf_token().await
        {
            fetch = fetch.header(HEADER, token);
        }
        page.tab.fetch(&page.net, fetch).await
    }
}
