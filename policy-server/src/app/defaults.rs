//! The policies that an app, a group or a mount sets for its routes.

use policy_core::route::LevelPolicy;

use crate::app::cors_source::CorsSource;

/// The policies of an app, a group or a mount.
pub(crate) type Defaults = LevelPolicy<CorsSource>;

/// The builder methods that set these policies.
macro_rules! policy_methods {
    ($($defaults:ident).+, $of:literal) => {
        fn defaults_mut(&mut self) -> &mut $crate::app::defaults::Defaults {
            &mut self.$($defaults).+
        }

        #[doc = concat!("The CORS policy of ", $of, ".")]
        pub fn cors(mut self, policy: impl Into<$crate::CorsSource>) -> Self {
            self.defaults_mut().cors = policy_core::route::Facet::Set(policy.into());
            self
        }

        /// Shares them with no other origin, whatever the outer level allows.
        pub fn no_cors(mut self) -> Self {
            self.defaults_mut().cors = policy_core::route::Facet::None;
            self
        }

        #[doc = concat!("The limits of ", $of, ". Each one that is not stated here is that of")]
        /// the outer level. Without any, a body has at most 2 MiB, so that many concurrent readers
        /// fit into memory, and a response must be ready within 30 seconds.
        pub fn limits(mut self, limits: policy_core::limits::Limits) -> Self {
            self.defaults_mut().limits = limits;
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
        pub fn $name(mut self, policy: $Policy) -> Self {
            self.defaults_mut().$name = policy_core::route::Facet::Set(policy);
            self
        }

        $(#[$none_doc])*
        pub fn $none(mut self) -> Self {
            self.defaults_mut().$name = policy_core::route::Facet::None;
            self
        }
    )* };
}

pub(crate) use facet_methods;
pub(crate) use policy_methods;
