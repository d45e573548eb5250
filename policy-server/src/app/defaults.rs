//! The policies that an app, a group or a mount sets for its routes.

use std::panic::Location;

use policy_core::route::LevelPolicy;

use crate::app::cors_source::CorsSource;

/// The policies of an app, a group or a mount, and where they are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defaults {
    pub(crate) policies: LevelPolicy<CorsSource>,
    /// The stated facets, and the callers, by name.
    written: Vec<(&'static str, &'static Location<'static>)>,
}

impl From<LevelPolicy<CorsSource>> for Defaults {
    fn from(policies: LevelPolicy<CorsSource>) -> Self {
        Self { policies, written: Vec::new() }
    }
}

impl Defaults {
    /// Notes that the caller of the caller states a facet.
    #[track_caller]
    pub(crate) fn note(&mut self, facet: &'static str) {
        self.written.retain(|(noted, _)| *noted != facet);
        self.written.push((facet, Location::caller()));
    }

    /// The source location of a facet.
    #[cfg(feature = "manifest")]
    pub(crate) fn written(&self, facet: &str) -> Option<&'static Location<'static>> {
        let (_, location) = self.written.iter().find(|(noted, _)| *noted == facet)?;
        Some(location)
    }
}

/// The builder methods that set these policies.
macro_rules! policy_methods {
    ($($defaults:ident).+, $of:literal) => {
        /// The policies, to change one facet of them.
        #[track_caller]
        fn stating(
            &mut self,
            facet: &'static str,
        ) -> &mut policy_core::route::LevelPolicy<$crate::CorsSource> {
            self.$($defaults).+.note(facet);
            &mut self.$($defaults).+.policies
        }

        #[doc = concat!("The CORS policy of ", $of, ".")]
        #[track_caller]
        pub fn cors(mut self, policy: impl Into<$crate::CorsSource>) -> Self {
            self.stating("cors").cors = policy_core::route::Facet::Set(policy.into());
            self
        }

        /// Shares the responses with no other origin, whatever the outer level allows.
        #[track_caller]
        pub fn no_cors(mut self) -> Self {
            self.stating("cors").cors = policy_core::route::Facet::None;
            self
        }

        #[doc = concat!("The limits of ", $of, ". Each one that is not stated here is that of")]
        /// the outer level. Without any, a body has at most 2 MiB, so that many concurrent readers
        /// fit into memory, and a response must be ready within 30 seconds.
        #[track_caller]
        pub fn limits(mut self, limits: policy_core::limits::Limits) -> Self {
            self.stating("limits").limits = limits;
            self
        }

        policy_core::facets!([$crate::app::defaults::facet_methods] $of);
    };
}

/// The methods for the policies that each level can set.
macro_rules! facet_methods {
    (
        $of:literal
        levels { $(
            $(#[$doc:meta])* $name:ident: $Spec:ty => $Policy:ty => $Compiled:ty,
            $(#[$none_doc:meta])* $none:ident;
        )* }
        route { $($_route:tt)* }
    ) => { $(
        $(#[$doc])*
        ///
        #[doc = concat!("It applies to ", $of, ".")]
        #[track_caller]
        pub fn $name(mut self, policy: $Policy) -> Self {
            self.stating(stringify!($name)).$name = policy_core::route::Facet::Set(policy);
            self
        }

        $(#[$none_doc])*
        #[track_caller]
        pub fn $none(mut self) -> Self {
            self.stating(stringify!($name)).$name = policy_core::route::Facet::None;
            self
        }
    )* };
}

pub(crate) use facet_methods;
pub(crate) use policy_methods;
