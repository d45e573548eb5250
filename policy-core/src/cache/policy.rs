//! Policies that live in constants.

use super::spec::{Audience, CacheSpec, CacheViolation};
#[cfg(feature = "engine")]
use crate::facet::{FacetPolicy, FromSpec, Level, RouteFacts};

/// A caching policy that passed every rule: a value to share between routes.
///
/// It is displayed as the `Cache-Control` that it declares.
///
/// ```
/// use policy_core::cache::CachePolicy;
///
/// const LISTS: CachePolicy =
///     CachePolicy::public().max_age(60).stale_while_revalidate(30).vary(&["accept"]).build();
/// assert_eq!(LISTS.to_string(), "public, max-age=60, stale-while-revalidate=30");
/// ```
///
/// A wrong one does not compile:
///
/// ```compile_fail
/// # use policy_core::cache::CachePolicy;
/// const FOREVER: CachePolicy = CachePolicy::public().immutable().build();
/// # FOREVER.spec();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CachePolicy(CacheSpec<'static>);

impl CachePolicy {
    /// Begins a policy that lets shared caches keep responses.
    pub const fn public() -> CachePolicyBuilder {
        CachePolicyBuilder(CacheSpec { audience: Audience::Public, ..CacheSpec::NOTHING })
    }

    /// Begins a policy that lets only the user's own cache keep responses.
    pub const fn private() -> CachePolicyBuilder {
        CachePolicyBuilder(CacheSpec { audience: Audience::Private, ..CacheSpec::NOTHING })
    }

    /// Begins a policy that lets no cache keep responses.
    pub const fn no_store() -> CachePolicyBuilder {
        CachePolicyBuilder(CacheSpec { no_store: true, ..CacheSpec::NOTHING })
    }

    /// Begins a policy that does not state which caches may keep responses.
    pub const fn unstated() -> CachePolicyBuilder {
        CachePolicyBuilder(CacheSpec::NOTHING)
    }

    /// Checks a spec, as the macros do.
    ///
    /// # Errors
    ///
    /// The first violation.
    pub const fn try_new(spec: CacheSpec<'static>) -> Result<Self, CacheViolation<'static>> {
        match spec.first_error() {
            None => Ok(Self(spec)),
            Some(violation) => Err(violation),
        }
    }

    /// The spec of the policy.
    pub const fn spec(&self) -> &CacheSpec<'static> {
        &self.0
    }
}

#[cfg(feature = "engine")]
impl FromSpec for CachePolicy {
    type Spec = CacheSpec<'static>;

    fn from_spec(spec: Self::Spec) -> Result<Self, crate::Violation<'static, &'static str>> {
        Self::try_new(spec).map_err(CacheViolation::into_named)
    }
}

#[cfg(feature = "engine")]
impl FacetPolicy for CachePolicy {
    type Compiled = super::Caching;

    /// A default that permits storing applies only to reads that are open to all callers. One that
    /// forbids it permits nothing, so it applies to every route.
    fn applies(&self, level: Level, route: RouteFacts<'_>) -> bool {
        let is_read = route.methods.iter().all(|method| matches!(*method, "GET" | "HEAD"));
        level == Level::Route || self.0.no_store || (is_read && !route.is_personal())
    }

    fn violations<'a>(&'a self, route: RouteFacts<'a>) -> Vec<crate::Violation<'a, &'static str>> {
        CacheSpec { route, ..self.0 }.violations().map(CacheViolation::into_named).collect()
    }

    fn compile(&self) -> Self::Compiled {
        super::Caching::new(self)
    }
}

#[cfg(feature = "engine")]
impl std::fmt::Display for CachePolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match super::directives::Directives::new(&self.0) {
            Some(directives) => directives.fmt(f),
            None => f.write_str("unstated"),
        }
    }
}

/// Builds a [`CachePolicy`], which both final methods check.
#[derive(Clone, Copy, Debug)]
#[must_use = "a policy exists once `build` or `try_build` has checked it"]
pub struct CachePolicyBuilder(CacheSpec<'static>);

impl CachePolicyBuilder {
    /// Makes caches revalidate before each use.
    pub const fn no_cache(mut self) -> Self {
        self.0.no_cache = true;
        self
    }

    /// Declares responses fresh for this many seconds.
    pub const fn max_age(mut self, seconds: u32) -> Self {
        self.0.max_age = Some(seconds as i64);
        self
    }

    /// Declares responses fresh for this many seconds in shared caches.
    pub const fn s_maxage(mut self, seconds: u32) -> Self {
        self.0.s_maxage = Some(seconds as i64);
        self
    }

    /// Lets a cache serve a stale response for this many seconds while it revalidates.
    pub const fn stale_while_revalidate(mut self, seconds: u32) -> Self {
        self.0.stale_while_revalidate = Some(seconds as i64);
        self
    }

    /// Lets a cache serve a stale response for this many seconds if revalidation fails.
    pub const fn stale_if_error(mut self, seconds: u32) -> Self {
        self.0.stale_if_error = Some(seconds as i64);
        self
    }

    /// Forbids caches to serve stale responses, even if they cannot reach the server.
    pub const fn must_revalidate(mut self) -> Self {
        self.0.must_revalidate = true;
        self
    }

    /// Promises that a response does not change while it is fresh, so that a reload does not
    /// revalidate it.
    pub const fn immutable(mut self) -> Self {
        self.0.immutable = true;
        self
    }

    /// Names the request headers that responses depend on.
    pub const fn vary(mut self, fields: &'static [&'static str]) -> Self {
        self.0.vary = fields;
        self
    }

    /// The checked policy.
    ///
    /// # Errors
    ///
    /// The first violation, see [`CachePolicy::try_new`].
    pub const fn try_build(self) -> Result<CachePolicy, CacheViolation<'static>> {
        CachePolicy::try_new(self.0)
    }

    /// The checked policy; in a `const`, a violation is a compile error.
    ///
    /// # Panics
    ///
    /// On a violation. Outside of constants, use [`try_build`](Self::try_build).
    #[track_caller]
    #[expect(clippy::panic, reason = "a const panic is how a constant says that it is wrong")]
    pub const fn build(self) -> CachePolicy {
        match self.try_build() {
            Ok(policy) => policy,
            Err(violation) => panic!("{}", violation.text_of_builder().as_str()),
        }
    }
}
