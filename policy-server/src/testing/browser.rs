//! A browser and its state.

use std::{
    collections::VecDeque,
    fmt, mem,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use policy_browser::{
    AddressSpace, Cookie, Event, Fetch, LoadId, Output, Page, Profile, State, Url, step,
};

use super::{
    Network, Tab,
    fetched::{Exchange, Fetched},
    network::start,
};
use crate::{
    base::{clock::Clock, locks::lock},
    pipeline::explain::RouteTrace,
};

/// A browser: its cookies, its caches, and the rules of its engine.
///
/// Copies share all of this, and so do its [tabs](Tab). Two browsers share nothing.
///
/// ```
/// use policy_server::testing::Browser;
///
/// let browser = Browser::chromium();
/// let page = browser.open("https://app.shop.example");
/// page.set_cookie("theme=dark; Secure; SameSite=Strict");
/// assert_eq!(browser.open("https://app.shop.example/help").cookie(), "theme=dark");
/// assert_eq!(browser.open("https://evil.example").cookie(), "");
/// assert_eq!(Browser::chromium().cookies().len(), 0);
/// ```
#[derive(Clone)]
pub struct Browser(Arc<Mutex<Running>>);

struct Running {
    state: State,
    loads: u64,
    /// The clock of the network that it last loaded something from.
    clock: Option<Clock>,
}

impl Browser {
    /// A new Chromium with its default settings: [`Profile::CHROMIUM`], measured in Chromium 156.
    pub fn chromium() -> Self {
        Self::new(Profile::CHROMIUM)
    }

    /// A new Firefox with its default settings: [`Profile::FIREFOX`], measured in Firefox ESR 153.
    pub fn firefox() -> Self {
        Self::new(Profile::FIREFOX)
    }

    /// A new WebKit: [`Profile::WEBKIT`], whose cookies and HTTP cache follow the source of WebKit
    /// and the settings of Safari. All other rules were measured in WebKitGTK 2.50.
    pub fn webkit() -> Self {
        Self::new(Profile::WEBKIT)
    }

    /// A new browser with other settings.
    ///
    /// ```
    /// use policy_server::testing::{Browser, Profile, ThirdParty};
    ///
    /// let lenient = Browser::new(Profile::CHROMIUM.third_party(ThirdParty::Sent));
    /// ```
    pub fn new(profile: Profile) -> Self {
        let state = State::new(profile, start());
        Self(Arc::new(Mutex::new(Running { state, loads: 0, clock: None })))
    }

    /// A page at an address, in a new window. Nothing is loaded, so the address needs no server.
    ///
    /// # Panics
    ///
    /// If `address` is not a URL.
    #[track_caller]
    pub fn open(&self, address: &str) -> Tab {
        Tab::new(self.clone(), Page::at(address_of(address)))
    }

    /// Loads a document as if a person had typed its address, without an initiating page.
    pub async fn visit(&self, net: &Network, address: impl Into<String>) -> Fetched {
        self.load(net, None, Fetch::navigate(address)).await
    }

    /// Sets the address space of a host name's addresses, for Local Network Access. By default a
    /// name is public, unless it is `localhost` or ends with `.local`.
    ///
    /// ```
    /// use policy_server::testing::{AddressSpace, Browser, Fetch, Network, Reason};
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(async {
    /// let net = Network::new();
    /// let browser = Browser::chromium();
    /// browser.resolve("wiki.corp.example", AddressSpace::Local);
    /// let page = browser.open("https://app.example");
    /// let wiki = page.fetch(&net, Fetch::get("https://wiki.corp.example")).await;
    /// let reason = wiki.blocked().map(|blocked| &blocked.reason);
    /// assert_eq!(reason, Some(&Reason::LocalNetwork(AddressSpace::Local)));
    /// # });
    /// ```
    pub fn resolve(&self, host: &str, space: AddressSpace) {
        self.running().state.resolve(host, space);
    }

    /// The cookies of all sites that it keeps.
    pub fn cookies(&self) -> Vec<Cookie> {
        self.look(|state| state.cookies().iter().cloned().collect())
    }

    /// Runs a load to its end.
    #[expect(clippy::panic, reason = "a load that never ends would be worse")]
    pub(super) async fn load(&self, net: &Network, page: Option<Page>, fetch: Fetch) -> Fetched {
        let id = {
            let mut running = self.running();
            running.clock = Some(net.clock());
            running.loads += 1;
            LoadId(running.loads)
        };
        let mut last = None;
        let mut outputs = VecDeque::from(self.step(Event::Start { id, page, fetch }));
        loop {
            match outputs.pop_front() {
                Some(Output::Request { id: asking, request }) => {
                    let trace = RouteTrace::default();
                    let response = net.deliver(&request, &trace).await;
                    outputs.extend(self.step(match &response {
                        Some(response) => {
                            Event::Response { id: asking, response: response.clone() }
                        }
                        None => Event::Unreachable { id: asking },
                    }));
                    // The others are for the cache, and tell the page nothing.
                    if asking == id {
                        let decider = trace.finding();
                        last =
                            Some(Exchange { request, response, decider, not_stored: Vec::new() });
                    }
                }
                Some(Output::Done { outcome, .. }) => {
                    if let Some(last) = &mut last {
                        last.not_stored = self.look(|state| last.not_stored(state));
                    }
                    return Fetched::new(self.clone(), outcome, last);
                }
                None => panic!("the model of browsers forgot a load"),
            }
        }
    }

    /// Passes an event to the model and returns its outputs.
    fn step(&self, event: Event) -> Vec<Output> {
        let mut running = self.running();
        running.catch_up();
        running.step(event)
    }

    /// `document.cookie = text`
    pub(super) fn write_cookie(&self, page: Page, text: String) {
        self.step(Event::WriteCookie { page, text });
    }

    /// Reads the current state of the model.
    pub(super) fn look<T>(&self, at: impl FnOnce(&State) -> T) -> T {
        let mut running = self.running();
        running.catch_up();
        at(&running.state)
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        // A test that panicked while it held the lock has failed already.
        lock(&self.0)
    }
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Browser").field(&self.running().state.profile().name).finish()
    }
}

impl Running {
    /// Advances the model's time to that of the network.
    fn catch_up(&mut self) {
        let Some(clock) = &self.clock else { return };
        let now = Duration::from_millis(clock.now().millis());
        if let Some(passed) = now.checked_sub(self.state.now()).filter(|time| !time.is_zero()) {
            self.step(Event::Elapse(passed));
        }
    }

    fn step(&mut self, event: Event) -> Vec<Output> {
        let empty = State::new(*self.state.profile(), Duration::ZERO);
        let (state, outputs) = step(mem::replace(&mut self.state, empty), event);
        self.state = state;
        outputs
    }
}

/// An address of a page as a test writes it.
#[track_caller]
#[expect(clippy::panic, reason = "a panic reports the mistake to the test")]
pub(super) fn address_of(text: &str) -> Url {
    match Url::parse(text) {
        // Text before a colon is a scheme to the parser: `localhost:3000`.
        Ok(url) if url.has_host() || matches!(url.scheme(), "data" | "file") => url,
        _ => panic!(
            "`{text}` is not an address of a page: write it with its scheme, such as \
             `https://app.shop.example`"
        ),
    }
}
