//! What a level of an app says about the routes inside of it.

use policy_core::{
    cache::CachePolicy, headers::HeadersPolicy, isolation::Isolation, limits::Limits, route::Facet,
};

use crate::app::cors_source::CorsSource;

/// The policies of an app, a scope or a mount.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defaults {
    pub(crate) cors: Facet<CorsSource>,
    pub(crate) cache: Facet<CachePolicy>,
    pub(crate) headers: Facet<HeadersPolicy>,
    pub(crate) isolation: Facet<Isolation>,
    /// Each limit is a facet of its own.
    pub(crate) limits: Limits,
}

/// The methods by which each of those builders states its policies.
macro_rules! policy_methods {
    ($($defaults:ident).+, $of:literal) => {
        #[doc = concat!("The CORS policy of ", $of, ".")]
        pub fn cors(mut self, policy: impl Into<$crate::CorsSource>) -> Self {
            self.$($defaults).+.cors = policy_core::route::Facet::Set(policy.into());
            self
        }

        /// Shares them with nobody, whatever the outer level says.
        pub fn no_cors(mut self) -> Self {
            self.$($defaults).+.cors = policy_core::route::Facet::None;
            self
        }

        #[doc = concat!("Who may keep the answers of ", $of, ", and for how long.")]
        ///
        /// A default is for what everybody may read: routes that ask for credentials, and methods
        /// other than GET and HEAD, do not take it over.
        pub fn cache(mut self, policy: policy_core::cache::CachePolicy) -> Self {
            self.$($defaults).+.cache = policy_core::route::Facet::Set(policy);
            self
        }

        /// Leaves caching to the handlers, whatever the outer level says.
        pub fn no_cache(mut self) -> Self {
            self.$($defaults).+.cache = policy_core::route::Facet::None;
            self
        }

        #[doc = concat!("The security fields of ", $of, ", in place of")]
        /// [`HeadersPolicy::DEFAULT`](policy_core::headers::HeadersPolicy::DEFAULT).
        pub fn headers(mut self, policy: policy_core::headers::HeadersPolicy) -> Self {
            self.$($defaults).+.headers = policy_core::route::Facet::Set(policy);
            self
        }

        /// Adds no security fields, whatever the outer level says.
        pub fn no_headers(mut self) -> Self {
            self.$($defaults).+.headers = policy_core::route::Facet::None;
            self
        }

        #[doc = concat!("Whose pages may load ", $of, " (W3C Fetch Metadata).")]
        pub fn isolation(mut self, isolation: policy_core::isolation::Isolation) -> Self {
            self.$($defaults).+.isolation = policy_core::route::Facet::Set(isolation);
            self
        }

        /// Lets the pages of everybody load them, whatever the outer level says.
        pub fn no_isolation(mut self) -> Self {
            self.$($defaults).+.isolation = policy_core::route::Facet::None;
            self
        }

        #[doc = concat!("The limits of ", $of, ". Each one that is not stated here is that of")]
        /// the outer level; without any, a body has at most 2 MiB, so that many readers at once
        /// fit into memory, and an answer is ready within 30 seconds.
        pub fn limits(mut self, limits: policy_core::limits::Limits) -> Self {
            self.$($defaults).+.limits = limits;
            self
        }
    };
}

pub(crate) use policy_methods;
