//! Policies that live in constants.

use super::spec::{CorsPart, CorsSpec, Origins};
use crate::validator::policy;

/// A CORS policy that passed every rule but those about public suffixes, which are left to the
/// start: a value to share between routes.
///
/// ```
/// use policy_core::cors::CorsPolicy;
///
/// const PARTNERS: CorsPolicy = CorsPolicy::origins(&["https://app.shop.example"])
///     .credentials()
///     .expose(&["etag"])
///     .max_age(600)
///     .build();
/// assert!(PARTNERS.spec().credentials);
/// ```
///
/// A wrong one does not compile:
///
/// ```compile_fail
/// # use policy_core::cors::CorsPolicy;
/// const OPEN: CorsPolicy = CorsPolicy::origins(&["*"]).credentials().build();
/// # OPEN.spec();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CorsPolicy(CorsSpec<'static>);

impl CorsPolicy {
    /// Begins a policy that grants these origins: exact ones, patterns, or `*` alone.
    pub const fn origins(origins: &'static [&'static str]) -> CorsPolicyBuilder {
        CorsPolicyBuilder(CorsSpec::new(Origins::Listed(origins)))
    }

    /// Begins a policy whose origins the app supplies at start under this name.
    pub const fn origins_at_run_time(name: &'static str) -> CorsPolicyBuilder {
        CorsPolicyBuilder(CorsSpec::new(Origins::AtRunTime { name, within: None, by: None }))
    }
}

/// Builds a [`CorsPolicy`], which both final methods check.
#[derive(Clone, Copy, Debug)]
#[must_use = "a policy exists once `build` or `try_build` has checked it"]
pub struct CorsPolicyBuilder(CorsSpec<'static>);

impl CorsPolicyBuilder {
    /// States the bound of a run-time list of origins: no origin may be outside of it. It has no
    /// effect on listed origins.
    pub const fn within(mut self, bound: &'static [&'static str]) -> Self {
        if let Origins::AtRunTime { name, by, .. } = self.0.origins {
            self.0.origins = Origins::AtRunTime { name, within: Some(bound), by };
        }
        self
    }

    /// Selects the list by the value of a path parameter, so that each tenant has its own. A value
    /// without a list grants no origin. It has no effect on origins that are listed in the policy.
    pub const fn by(mut self, parameter: &'static str) -> Self {
        if let Origins::AtRunTime { name, within, .. } = self.0.origins {
            self.0.origins = Origins::AtRunTime { name, within, by: Some(parameter) };
        }
        self
    }

    /// Allows requests with cookies and TLS certificates from the granted origins.
    pub const fn credentials(mut self) -> Self {
        self.0.credentials = true;
        self
    }

    /// Allows these methods instead of those that the router serves.
    pub const fn methods(mut self, methods: &'static [&'static str]) -> Self {
        self.0.methods = Some(methods);
        self
    }

    /// Allows these request headers, beyond those that follow from the route.
    pub const fn headers(mut self, headers: &'static [&'static str]) -> Self {
        self.0.headers = headers;
        self
    }

    /// Lets pages read these response headers in addition to the safelisted ones.
    pub const fn expose(mut self, headers: &'static [&'static str]) -> Self {
        self.0.expose = headers;
        self
    }

    /// Lets browsers cache a preflight response for this many seconds, at most 86400; 0 and -1
    /// disable caching.
    pub const fn max_age(mut self, seconds: i64) -> Self {
        self.0.max_age = Some(seconds);
        self
    }

    /// Accepts origins whose pages are sent without TLS, or whose scheme is unknown: an attacker on
    /// the network may be able to change such a page and act with its user's cookies.
    pub const fn dangerous_insecure_origins(mut self) -> Self {
        self.0.dangerous_insecure_origins = true;
        self
    }

    /// Accepts wildcards under a public suffix: anyone who registers a name there can act with the
    /// cookies of its visitors.
    pub const fn dangerous_public_suffix(mut self) -> Self {
        self.0.dangerous_public_suffix = true;
        self
    }

    /// Takes the bound of run-time origins from the configuration of the app: the author of the
    /// configuration decides whose pages act with the cookies of their visitors. It has no effect
    /// if [`within`](Self::within) states the bound.
    pub const fn dangerous_configured_bound(mut self) -> Self {
        self.0.dangerous_configured_bound = true;
        self
    }
}

policy!(CorsPolicy, CorsPolicyBuilder, CorsSpec, CorsPart);
