//! The compiled policy of a route: what it requires of requests, and what it writes onto responses.

use std::{sync::Arc, time::Duration};

use policy_core::{cors::Cors, route::CompiledFacets};

use crate::route::{
    limits::{Concurrency, RateLimit},
    socket_limits::SocketLimits,
};

macro_rules! define_rules {
    (
        levels { $(
            $(#[$doc:meta])* $name:ident: $Spec:ty => $Policy:ty => $Compiled:ty,
            $(#[$none_doc:meta])* $none:ident;
        )* }
        route { $($(#[$own_doc:meta])* $own:ident: $OwnSpec:ty => $OwnPolicy:ty => $OwnCompiled:ty,)* }
    ) => {
        /// The policy of a route, except for authentication.
        #[derive(Debug, Default)]
        pub(crate) struct CompiledRoutePolicy {
            pub(crate) cors: Option<Arc<Cors>>,
            /// Whether CORS is left to the service behind a layer, which states nothing about it.
            pub(crate) leaves_cors: bool,
            $(pub(crate) $name: Option<$Compiled>,)*
            $(pub(crate) $own: Option<$OwnCompiled>,)*
            /// The maximum size of a body in bytes.
            pub(crate) body: u64,
            pub(crate) timeout: Duration,
            pub(crate) rate: Option<Arc<RateLimit>>,
            /// How often a caller may ask for objects that are not there.
            pub(crate) misses: Option<Arc<RateLimit>>,
            pub(crate) concurrency: Option<Arc<Concurrency>>,
            pub(crate) sockets: SocketLimits,
            /// The beginning of `type` in problems.
            pub(crate) problem_types: Option<Arc<str>>,
            /// The approximate number of headers that the policy adds to a response.
            pub(crate) fields: usize,
            /// Whether responses show developers the code of a problem.
            pub(crate) tells_codes: bool,
        }

        impl CompiledRoutePolicy {
            #[inline(always)]
            pub(crate) fn facets(&self) -> CompiledFacets<'_> {
                CompiledFacets {
                    $($name: self.$name.as_ref(),)*
                    $($own: self.$own.as_ref(),)*
                }
            }
        }
    };
}

policy_core::facets!([define_rules]);
