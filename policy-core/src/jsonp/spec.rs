//! The JSONP policy of a route as written, before validation.

use crate::{facet::RouteFacts, validator::parts};

/// Which names can be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Grammar {
    /// One identifier.
    #[default]
    Identifier,
    /// Up to three identifiers, joined by dots. This reaches more functions of a page of the same
    /// origin, and some of them may do harm when called.
    Dotted,
}

/// The JSONP policy of a route before validation, with the facts about the route that it must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonpSpec<'a> {
    /// `callback = ".."`; empty if it is missing.
    pub callback: &'a str,
    /// Which names can be called.
    pub grammar: Grammar,
    /// The route.
    pub route: RouteFacts<'a>,
    /// Whether there is a `#[csrf]`.
    pub csrf: bool,
}

impl JsonpSpec<'static> {
    /// An empty spec.
    pub const NOTHING: Self = Self {
        callback: "",
        grammar: Grammar::Identifier,
        route: RouteFacts::UNKNOWN,
        csrf: false,
    };
}

parts! {
    /// A part of the JSONP policy of a route.
    JsonpPart: "jsonp" {
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
