//! The JSONP policy of a route as written, before validation.

use super::JsonpPolicy;
use crate::{route::RouteFacts, validator::parts};

/// The JSONP policy of a route before validation, with the facts about the route that it must fit.
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
    /// An empty spec.
    pub const NOTHING: Self = Self { callback: "", route: RouteFacts::UNKNOWN, csrf: false };

    /// The spec of a policy, on a route that fits it.
    pub const fn of(policy: &JsonpPolicy) -> Self {
        Self { callback: policy.callback, ..Self::NOTHING }
    }
}

parts! {
    /// A part of the JSONP policy of a route.
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
