//! The state of a browser, and its next step.

use std::{
    collections::{BTreeMap, VecDeque},
    mem,
    time::Duration,
};

use crate::{
    AddressSpace, Event, Fetch, Jar, LoadId, Outcome, Output, Page, Profile, SentRequest,
    ServerResponse,
    address_space::Names,
    main_fetch::{self, Load, Next},
    network::Refresh,
    preflight_cache::PreflightCache,
    store::Store,
};

/// The whole state of a browser: its cookies, its HTTP cache, its preflight cache, and the loads
/// that are in progress.
#[derive(Clone, Debug)]
pub struct State {
    pub(crate) profile: Profile,
    /// Since 1970.
    pub(crate) now: Duration,
    pub(crate) cookies: Jar,
    pub(crate) preflights: PreflightCache,
    pub(crate) store: Store,
    pub(crate) names: Names,
    loads: BTreeMap<LoadId, Load>,
    /// Requests that a step sends in addition to the load that it is about.
    pub(crate) refreshes: Vec<Refresh>,
}

impl State {
    /// A browser without any data; `now` is the time since 1970 in UTC.
    pub fn new(profile: Profile, now: Duration) -> Self {
        Self {
            profile,
            now,
            cookies: Jar::default(),
            preflights: PreflightCache::default(),
            store: Store::default(),
            names: Names::default(),
            loads: BTreeMap::new(),
            refreshes: Vec::new(),
        }
    }

    /// Sets the address space of the addresses of a host name. Without it, a name is public, unless
    /// it is `localhost` or ends with `.local`.
    pub fn resolve(&mut self, host: &str, space: AddressSpace) {
        self.names.insert(host, space);
    }

    /// The engine.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The time since 1970.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// The cookies.
    pub fn cookies(&self) -> &Jar {
        &self.cookies
    }

    /// `document.cookie`, as a script of this page gets it.
    pub fn read_cookies(&self, page: &Page) -> String {
        self.cookies.read(&self.profile, self.now, page)
    }

    /// The action for a load, after the requests that are sent besides it, such as revalidations.
    fn settle(&mut self, id: LoadId, next: Next) -> Vec<Output> {
        let mut outputs = Vec::with_capacity(1);
        for Refresh { request, sent, pending } in mem::take(&mut self.refreshes) {
            let mut own = LoadId(u64::MAX);
            while own == id || self.loads.contains_key(&own) {
                own.0 -= 1;
            }
            self.loads.insert(own, Load::refresh(request, pending));
            outputs.push(Output::Request { id: own, request: sent });
        }
        match next {
            Next::Send(load, request) => {
                self.loads.insert(id, *load);
                outputs.push(Output::Request { id, request });
            }
            Next::Done(outcome) => outputs.push(Output::Done { id, outcome }),
            Next::Kept => {}
        }
        outputs
    }
}

/// Applies an event, and returns the next state and the actions of the browser.
///
/// A load with the id of a running one replaces it, as if the page had aborted the first. Responses
/// to loads that are not in progress are ignored.
///
/// The last output is about the load. Outputs before it can be the browser's own requests, whose
/// ids count down from the highest one: they revalidate stored responses that were used stale (RFC
/// 5861, `stale-while-revalidate`).
///
/// ```
/// use std::time::Duration;
/// use policy_browser::{Event, Fetch, LoadId, Output, Page, Profile, State, Url, step};
///
/// let state = State::new(Profile::CHROMIUM, Duration::ZERO);
/// let (state, outputs) = step(state, Event::Start {
///     id: LoadId(1),
///     page: Some(Page::at(Url::parse("https://app.shop.example")?)),
///     fetch: Fetch::put("https://api.shop.example/orders/7"),
/// });
/// let [Output::Request { request, .. }] = &outputs[..] else { panic!("{outputs:?}") };
/// assert!(request.is_preflight);
///
/// let (_, outputs) = step(state, Event::Unreachable { id: LoadId(1) });
/// assert!(matches!(&outputs[..], [Output::Done { .. }]));
/// # Ok::<(), url::ParseError>(())
/// ```
pub fn step(mut state: State, event: Event) -> (State, Vec<Output>) {
    let (id, next) = match event {
        Event::Start { id, page, fetch } => {
            state.loads.remove(&id);
            (id, Some(main_fetch::start(&mut state, page, fetch)))
        }
        Event::Response { id, response } => {
            let load = state.loads.remove(&id);
            (id, load.map(|load| load.receive(&mut state, response)))
        }
        Event::Unreachable { id } => {
            let load = state.loads.remove(&id);
            (id, load.map(|load| load.unreachable(&mut state)))
        }
        Event::WriteCookie { page, text } => {
            state.cookies.write(&state.profile, state.now, &page, &text);
            return (state, Vec::new());
        }
        Event::Elapse(time) => {
            state.now += time;
            state.preflights.expire(state.now);
            state.cookies.drop_expired(state.now);
            return (state, Vec::new());
        }
    };
    let outputs = next.map(|next| state.settle(id, next)).unwrap_or_default();
    (state, outputs)
}

/// Runs a whole load against a server that always responds: [`step`] until it is done.
///
/// ```
/// use std::time::Duration;
/// use http::HeaderMap;
/// use policy_browser::{ServerResponse, Fetch, Page, Profile, State, Url, run};
///
/// let state = State::new(Profile::CHROMIUM, Duration::ZERO);
/// let page = Page::at(Url::parse("https://app.shop.example")?);
/// let (_, outcome) = run(state, Some(&page), Fetch::get("https://api.shop.example/"), |_| {
///     ServerResponse::new(200, HeaderMap::new(), Vec::new())
/// });
/// assert!(!outcome.is_readable(), "nobody granted it");
/// # Ok::<(), url::ParseError>(())
/// ```
#[expect(clippy::panic, reason = "a load that never ends would be worse")]
pub fn run(
    state: State,
    page: Option<&Page>,
    fetch: Fetch,
    mut server: impl FnMut(&SentRequest) -> ServerResponse,
) -> (State, Outcome) {
    // An id that no other load has.
    let id = LoadId((0..).find(|id| !state.loads.contains_key(&LoadId(*id))).unwrap_or_default());
    let (mut state, outputs) = step(state, Event::Start { id, page: page.cloned(), fetch });
    let mut outputs = VecDeque::from(outputs);
    loop {
        match outputs.pop_front() {
            Some(Output::Request { id, request }) => {
                let (next, more) = step(state, Event::Response { id, response: server(&request) });
                state = next;
                outputs.extend(more);
            }
            Some(Output::Done { outcome, .. }) => return (state, outcome),
            None => panic!("a load neither asks nor ends"),
        }
    }
}

#[cfg(test)]
mod tests {
    /// Otherwise it could not test the engine independently.
    #[test]
    fn the_model_takes_nothing_of_the_engine() {
        let manifest = include_str!("../Cargo.toml");
        let (_, dependencies) = manifest.split_once("\n[dependencies]\n").unwrap();
        let (dependencies, _) = dependencies.split_once("\n\n").unwrap();
        assert!(dependencies.contains("http.workspace"), "{dependencies}");
        assert!(!dependencies.contains("policy"), "{dependencies}");
    }
}
