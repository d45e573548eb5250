//! What a route says about scripts, before anybody checked it.

use super::JsonpPolicy;
use crate::{route::RouteFacts, validator::parts};

/// What a route says about scripts, unchecked, and what it has to agree with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonpSpec<'a> {
    /// `callback = ".."`; empty where it is not there.
    pub callback: &'a str,
    /// The route.
    pub route: RouteFacts<'a>,
    /// Whether there is a `#[csrf]`.
    pub csrf: bool,
}

impl JsonpSpec<'static> {
    /// A spec that says nothing.
    pub const NOTHING: Self = Self { callback: "", route: RouteFacts::UNKNOWN, csrf: false };

    /// What this policy says, on a route that agrees with it.
    pub const fn of(policy: &JsonpPolicy) -> Self {
        Self { callback: policy.callback, ..Self::NOTHING }
    }
}

parts! {
    /// A part of what a route says about scripts.
    "jsonp" {
        /// `callback`
        Callback = "callback",
        /// The methods of the route
        Methods = "method"[..],
        /// `#[auth]`
        Auth = "auth",
        /// The handler's argument
        Session = "Session",
        /// `#[csrf]`
        Csrf = "csrf",
    }
}
