//! Policies that live in constants.

use super::spec::{Grammar, JsonpSpec, JsonpViolation};
#[cfg(feature = "engine")]
use crate::facet::{FacetPolicy, FromSpec, RouteFacts};

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

    /// Checks a spec, as the macros do.
    ///
    /// # Errors
    ///
    /// The first violation.
    pub const fn try_new(spec: JsonpSpec<'static>) -> Result<Self, JsonpViolation<'static>> {
        match spec.first_error() {
            None => Ok(Self(spec)),
            Some(violation) => Err(violation),
        }
    }

    /// The spec of the policy.
    pub const fn spec(&self) -> &JsonpSpec<'static> {
        &self.0
    }
}

#[cfg(feature = "engine")]
impl FromSpec for JsonpPolicy {
    type Spec = JsonpSpec<'static>;

    fn from_spec(spec: Self::Spec) -> Result<Self, crate::Violation<'static, &'static str>> {
        Self::try_new(spec).map_err(JsonpViolation::into_named)
    }
}

#[cfg(feature = "engine")]
impl FacetPolicy for JsonpPolicy {
    type Compiled = Self;

    fn violations<'a>(&'a self, route: RouteFacts<'a>) -> Vec<crate::Violation<'a, &'static str>> {
        JsonpSpec { route, ..self.0 }.violations().map(JsonpViolation::into_named).collect()
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

    /// The checked policy.
    ///
    /// # Errors
    ///
    /// The first violation, see [`JsonpPolicy::try_new`].
    pub const fn try_build(self) -> Result<JsonpPolicy, JsonpViolation<'static>> {
        JsonpPolicy::try_new(self.0)
    }

    /// The checked policy; in a `const`, a violation is a compile error.
    ///
    /// # Panics
    ///
    /// On a violation. Outside of constants, use [`try_build`](Self::try_build).
    #[track_caller]
    #[expect(clippy::panic, reason = "a const panic is how a constant says that it is wrong")]
    pub const fn build(self) -> JsonpPolicy {
        match self.try_build() {
            Ok(policy) => policy,
            Err(violation) => panic!("{}", violation.text_of_builder().as_str()),
        }
    }
}
