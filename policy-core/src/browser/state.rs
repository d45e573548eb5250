//! All that a browser knows, and its next step.

use std::{collections::BTreeMap, time::Duration};

use super::{
    Answer, Event, Fetch, Jar, LoadId, Outcome, Output, Page, Profile, Sent,
    main_fetch::{self, Load, Next},
    preflight_cache::PreflightCache,
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
    loads: BTreeMap<LoadId, Load>,
}

impl State {
    /// A browser that knows nothing yet; `now` is the time since 1970 in UTC.
    pub fn new(profile: Profile, now: Duration) -> Self {
        Self {
            profile,
            now,
            cookies: Jar::default(),
            preflights: PreflightCache::default(),
            loads: BTreeMap::new(),
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

    fn settle(&mut self, id: LoadId, next: Next) -> Output {
        match next {
            Next::Send(load, request) => {
                self.loads.insert(id, *load);
                Output::Send { id, request }
            }
            Next::Done(outcome) => Output::Done { id, outcome },
        }
    }
}

/// What a browser knows and does after something happened.
///
/// A load that starts under a name in use takes its place, as if the page had aborted the first.
/// Answers to loads that are not under way are ignored.
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
/// let [Output::Send { request, .. }] = &outputs[..] else { panic!("{outputs:?}") };
/// assert!(request.is_preflight);
///
/// let (_, outputs) = step(state, Event::Unreachable { id: LoadId(1) });
/// assert!(matches!(&outputs[..], [Output::Done { .. }]));
/// # Ok::<(), url::ParseError>(())
/// ```
pub fn step(mut state: State, event: Event) -> (State, Vec<Output>) {
    let output = match event {
        Event::Start { id, page, fetch } => {
            state.loads.remove(&id);
            let next = main_fetch::start(&mut state, page, fetch);
            Some(state.settle(id, next))
        }
        Event::Answer { id, answer } => state.loads.remove(&id).map(|load| {
            let next = load.answered(&mut state, answer);
            state.settle(id, next)
        }),
        Event::Unreachable { id } => state.loads.remove(&id).map(|load| {
            let next = load.unreachable(&mut state);
            state.settle(id, next)
        }),
        Event::WriteCookie { page, text } => {
            state.cookies.write(&state.profile, state.now, &page, &text);
            None
        }
        Event::Elapse(time) => {
            state.now += time;
            state.preflights.expire(state.now);
            None
        }
    };
    (state, output.into_iter().collect())
}

/// A whole load against a server that always answers: [`step`] until it is done.
///
/// ```
/// use std::time::Duration;
/// use policy_core::browser::{Answer, Fetch, Page, Profile, State, Url, run};
///
/// let state = State::new(Profile::CHROMIUM, Duration::ZERO);
/// let page = Page::at(Url::parse("https://app.shop.example")?);
/// let (_, outcome) = run(state, Some(&page), Fetch::get("https://api.shop.example/"), |_| {
///     Answer { status: 200, ..Answer::default() }
/// });
/// assert!(!outcome.is_readable(), "nobody granted it");
/// # Ok::<(), url::ParseError>(())
/// ```
pub fn run(
    state: State,
    page: Option<&Page>,
    fetch: Fetch,
    mut server: impl FnMut(&Sent) -> Answer,
) -> (State, Outcome) {
    // A name that nobody else has.
    let id = LoadId(state.loads.keys().next_back().map_or(0, |last| last.0.wrapping_add(1)));
    let mut event = Event::Start { id, page: page.cloned(), fetch };
    let mut state = state;
    loop {
        let (next, outputs) = step(state, event);
        state = next;
        event = match outputs.into_iter().next() {
            Some(Output::Send { request, .. }) => Event::Answer { id, answer: server(&request) },
            Some(Output::Done { outcome, .. }) => return (state, outcome),
            // INVARIANT: a load that starts or is answered sends or is done.
            None => Event::Unreachable { id },
        };
    }
}
