//! All that a browser knows, and its next step.

use std::{collections::BTreeMap, mem, time::Duration};

use super::{
    Event, Fetch, Jar, LoadId, Outcome, Output, Page, Profile, Sent, ServerResponse,
    main_fetch::{self, Load, Next},
    network::Refresh,
    preflight_cache::PreflightCache,
    store::Store,
};

/// All that a browser knows: its cookies, what it has cached, the preflights that it need not
/// repeat, and the loads that are under way.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) profile: Profile,
    /// Since 1970.
    pub(super) now: Duration,
    pub(super) cookies: Jar,
    pub(super) preflights: PreflightCache,
    pub(super) store: Store,
    loads: BTreeMap<LoadId, Load>,
    /// What a step will ask for beside the load that it is about.
    pub(super) refreshes: Vec<Refresh>,
}

impl State {
    /// A browser that knows nothing yet; `now` is the time since 1970 in UTC.
    pub fn new(profile: Profile, now: Duration) -> Self {
        Self {
            profile,
            now,
            cookies: Jar::default(),
            preflights: PreflightCache::default(),
            store: Store::default(),
            loads: BTreeMap::new(),
            refreshes: Vec::new(),
        }
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

    /// `document.cookie`, as a script of this page reads it.
    pub fn read_cookies(&self, page: &Page) -> String {
        self.cookies.read(&self.profile, self.now, page)
    }

    /// What the browser does about a load, after what it asks for beside it.
    fn settle(&mut self, id: LoadId, next: Next) -> Vec<Output> {
        let mut outputs = Vec::with_capacity(1);
        for Refresh { request, sent, asked } in mem::take(&mut self.refreshes) {
            let mut own = LoadId(u64::MAX);
            while own == id || self.loads.contains_key(&own) {
                own.0 -= 1;
            }
            self.loads.insert(own, Load::refresh(request, asked));
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

/// What a browser knows and does after something happened.
///
/// A load that starts under a name in use takes its place, as if the page had aborted the first.
/// Answers to loads that are not under way are ignored.
///
/// What the browser does about the load comes last. Before it may stand requests of the browser's
/// own, whose names count down from the highest one: what it has used out of its cache and asks
/// for anew (RFC 5861, `stale-while-revalidate`).
///
/// ```
/// use std::time::Duration;
/// use policy_core::browser::{Event, Fetch, LoadId, Output, Page, Profile, State, Url, step};
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

/// A whole load against a server that always answers: [`step`] until it is done.
///
/// ```
/// use std::time::Duration;
/// use policy_core::browser::{ServerResponse, Fetch, Page, Profile, State, Url, run};
///
/// let state = State::new(Profile::CHROMIUM, Duration::ZERO);
/// let page = Page::at(Url::parse("https://app.shop.example")?);
/// let (_, outcome) = run(state, Some(&page), Fetch::get("https://api.shop.example/"), |_| {
///     ServerResponse { status: 200, ..ServerResponse::default() }
/// });
/// assert!(!outcome.is_readable(), "nobody granted it");
/// # Ok::<(), url::ParseError>(())
/// ```
#[expect(clippy::panic, reason = "a load that never ends would be worse")]
pub fn run(
    state: State,
    page: Option<&Page>,
    fetch: Fetch,
    mut server: impl FnMut(&Sent) -> ServerResponse,
) -> (State, Outcome) {
    // A name that nobody else has.
    let id = LoadId((0..).find(|id| !state.loads.contains_key(&LoadId(*id))).unwrap_or_default());
    let mut event = Event::Start { id, page: page.cloned(), fetch };
    let mut state = state;
    loop {
        let (next, mut outputs) = step(state, event);
        state = next;
        let last = outputs.pop();
        for output in outputs {
            if let Output::Request { id, request } = output {
                (state, _) = step(state, Event::Response { id, response: server(&request) });
            }
        }
        event = match last {
            Some(Output::Request { request, .. }) => {
                Event::Response { id, response: server(&request) }
            }
            Some(Output::Done { outcome, .. }) => return (state, outcome),
            None => panic!("a load neither asks nor ends"),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::browser::trial::{app, browser, load_in, response};

    /// Otherwise it would be no witness against the engine.
    #[test]
    fn the_model_takes_nothing_of_the_engine() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/browser");
        let files: Vec<_> =
            fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
        assert!(files.len() > 20, "{files:?}");
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let away = [concat!("crate", "::"), concat!("super::", "super::")];
            for rest in away.iter().flat_map(|path| text.split(path).skip(1)) {
                assert!(rest.starts_with("browser"), "{}: {rest:.40}", file.display());
            }
        }
    }

    #[test]
    fn time_takes_cookies_away() {
        let text = "a=1; Max-Age=60".to_owned();
        let (mut state, _) = step(browser(), Event::WriteCookie { page: app(), text });
        for (seconds, left) in [(59, 1), (1, 0)] {
            (state, _) = step(state, Event::Elapse(Duration::from_secs(seconds)));
            assert_eq!(state.cookies().iter().count(), left);
        }
    }

    #[test]
    fn what_a_script_writes_is_sent_and_read() {
        let text = "a=1".to_owned();
        let (state, _) = step(browser(), Event::WriteCookie { page: app(), text });
        assert_eq!(state.read_cookies(&app()), "a=1");
        let trial = load_in(state, Some(&app()), Fetch::get("/"), &[response(200, &[])]);
        assert_eq!(trial.last("cookie"), Some("a=1"));
    }
}
