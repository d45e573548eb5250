//! A page and its loads.

use policy_browser::{Fetch, Page, ReferrerPolicy};

use super::{Browser, Fetched, Network, browser::address_of};

/// A page that is open in a [`Browser`], in a window or in a frame.
///
/// It is a page, not the window: a [navigation](Fetch::navigate) gives [another
/// page](Fetched::tab), and the old one stays usable.
///
/// ```
/// use policy_server::testing::{Browser, Fetch, Network};
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let router = axum::Router::new().route("/help", axum::routing::get(async || "help"));
/// let net = Network::new().host("https://shop.example", router);
/// let page = Browser::firefox().open("https://shop.example");
/// let help = page.fetch(&net, Fetch::navigate("/help")).await;
/// assert_eq!(help.text(), "help");
/// assert_eq!(help.tab().page().url.as_str(), "https://shop.example/help");
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Tab {
    pub(super) browser: Browser,
    page: Page,
}

impl Tab {
    pub(super) fn new(browser: Browser, page: Page) -> Self {
        Self { browser, page }
    }

    /// Loads something, like a script of the page, its markup, or a click of its user: each
    /// constructor of [`Fetch`] is one of these.
    ///
    /// | | |
    /// |---|---|
    /// | `fetch()` | [`Fetch::get`], [`post`](Fetch::post), [`put`](Fetch::put), [`patch`](Fetch::patch), [`delete`](Fetch::delete), [`new`](Fetch::new) |
    /// | elements | [`Fetch::script`], [`image`](Fetch::image), [`frame`](Fetch::frame) |
    /// | navigations | [`Fetch::navigate`], [`form`](Fetch::form) |
    /// | WebSockets | [`Fetch::websocket`] |
    pub async fn fetch(&self, net: &Network, fetch: Fetch) -> Fetched {
        self.browser.load(net, Some(self.page.clone()), fetch).await
    }

    /// A page in a frame of this one. Nothing is loaded, as with [`Browser::open`];
    /// [`Fetch::frame`] loads one.
    ///
    /// # Panics
    ///
    /// If `address` is not a URL.
    #[track_caller]
    pub fn frame(&self, address: &str) -> Self {
        let page = self.page.framed(address_of(address));
        Self { browser: self.browser.clone(), page }
    }

    /// The same page with an opaque origin: in a frame with `sandbox`, or with
    /// `Content-Security-Policy: sandbox`. Servers see `Origin: null`, also from pages in its frames.
    #[must_use]
    pub fn sandboxed(mut self) -> Self {
        self.page = self.page.sandboxed();
        self
    }

    /// The same page with a `Referrer-Policy`.
    #[must_use]
    pub fn referrer_policy(mut self, policy: ReferrerPolicy) -> Self {
        self.page.referrer_policy = policy;
        self
    }

    /// `document.cookie`: the cookies that scripts of this page see.
    pub fn cookie(&self) -> String {
        self.browser.look(|state| state.read_cookies(&self.page))
    }

    /// `document.cookie = text`: stores the cookie as a browser would, or ignores it.
    pub fn set_cookie(&self, text: impl Into<String>) {
        self.browser.write_cookie(self.page.clone(), text.into());
    }

    /// The page in the model of the browser: its URL, its origin, and the pages around it.
    pub fn page(&self) -> &Page {
        &self.page
    }
}
