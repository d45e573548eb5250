//! All that a browser knows, and its next step.

use std::time::Duration;

use super::{Event, Output, Profile};

/// All that a browser knows: its cookies, what it has cached, the preflights that it need not
/// repeat, and the loads that are under way.
#[derive(Clone, Debug)]
pub struct State {
    profile: Profile,
    /// Since 1970.
    now: Duration,
}

impl State {
    /// A browser that knows nothing yet; `now` is the time since 1970 in UTC.
    pub fn new(profile: Profile, now: Duration) -> Self {
        Self { profile, now }
    }

    /// The engine.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The time since 1970.
    pub fn now(&self) -> Duration {
        self.now
    }
}

/// What a browser knows and does after something happened.
pub fn step(state: State, event: Event) -> (State, Vec<Output>) {
    let _ = event;
    (state, Vec::new())
}
