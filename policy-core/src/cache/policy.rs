//! Policies that live in constants.

use super::spec::{Audience, CachePart, CacheSpec};
#[cfg(feature = "engine")]
use crate::facet::{FacetPolicy, Level, RouteFacts};
use crate::validator::policy;

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
        CacheSpec { route, ..self.0 }.violations().map(crate::Violation::into_named).collect()
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
}

policy!(CachePolicy, CachePolicyBuilder, CacheSpec, CachePart);
