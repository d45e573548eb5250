//! Policies that live in constants.

use super::spec::{Grammar, JsonpPart, JsonpSpec};
#[cfg(feature = "engine")]
use crate::facet::{FacetPolicy, RouteFacts};
use crate::validator::policy;

/// A JSONP policy that passed every rule: a value to share between routes. The response of such a
/// route is a script if the query names a function to call.
///
/// ```
/// use policy_core::jsonp::{Grammar, JsonpPolicy};
///
/// const PARTNERS: JsonpPolicy = JsonpPolicy::callback("cb").grammar(Grammar::Dotted).build();
/// assert_eq!(PARTNERS.spec().callback, "cb");
/// ```
///
/// A wrong one does not compile:
///
/// ```compile_fail
/// # use policy_core::jsonp::JsonpPolicy;
/// const SPACED: JsonpPolicy = JsonpPolicy::callback("call back").build();
/// # SPACED.spec();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonpPolicy(JsonpSpec<'static>);

impl JsonpPolicy {
    /// Begins a policy whose scripts call one identifier, which this query parameter names.
    pub const fn callback(parameter: &'static str) -> JsonpPolicyBuilder {
        JsonpPolicyBuilder(JsonpSpec { callback: parameter, ..JsonpSpec::NOTHING })
    }
}

#[cfg(feature = "engine")]
impl FacetPolicy for JsonpPolicy {
    type Compiled = Self;

    fn violations<'a>(&'a self, route: RouteFacts<'a>) -> Vec<crate::Violation<'a, &'static str>> {
        JsonpSpec { route, ..self.0 }.violations().map(crate::Violation::into_named).collect()
    }

    fn compile(&self) -> Self {
        *self
    }
}

/// Builds a [`JsonpPolicy`], which both final methods check.
#[derive(Clone, Copy, Debug)]
#[must_use = "a policy exists once `build` or `try_build` has checked it"]
pub struct JsonpPolicyBuilder(JsonpSpec<'static>);

impl JsonpPolicyBuilder {
    /// Sets which names can be called.
    pub const fn grammar(mut self, grammar: Grammar) -> Self {
        self.0.grammar = grammar;
        self
    }
}

policy!(JsonpPolicy, JsonpPolicyBuilder, JsonpSpec, JsonpPart);
