//! The JSONP policy of a route.

#[cfg(feature = "engine")]
use super::{JsonpSpec, Violation};
#[cfg(feature = "engine")]
use crate::route::{FacetPolicy, RouteFacts};

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

/// The JSONP policy of a route: its response is a script if the query names a function to call.
///
/// A constant of it can be shared between routes; it is checked on each of them.
///
/// ```
/// use policy_core::jsonp::{Grammar, JsonpPolicy, JsonpSpec};
///
/// const PARTNERS: JsonpPolicy = JsonpPolicy::new("cb").grammar(Grammar::Dotted);
/// assert_eq!(JsonpSpec::of(&PARTNERS).first_error(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct JsonpPolicy {
    /// The parameter of the query.
    pub callback: &'static str,
    /// Which names can be called.
    pub grammar: Grammar,
}

#[cfg(feature = "engine")]
impl FacetPolicy for JsonpPolicy {
    type Compiled = Self;

    fn violations<'a>(&'a self, route: RouteFacts<'a>) -> Vec<crate::Violation<'a, &'static str>> {
        JsonpSpec { route, ..JsonpSpec::of(self) }.violations().map(Violation::named).collect()
    }

    fn compile(&self) -> Self {
        *self
    }
}

impl JsonpPolicy {
    /// Scripts that call one identifier, which this parameter of the query names.
    pub const fn new(callback: &'static str) -> Self {
        Self { callback, grammar: Grammar::Identifier }
    }

    /// Sets which names can be called.
    #[must_use]
    pub const fn grammar(mut self, grammar: Grammar) -> Self {
        self.grammar = grammar;
        self
    }
}
