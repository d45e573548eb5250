//! What holds for a route, compiled at start: what a request is asked, and what is written onto
//! every answer.

use std::{sync::Arc, time::Duration};

use policy_core::cors::Cors;

use crate::route::limits::{Concurrency, RateLimit};

macro_rules! define_rules {
    (
        levels { $(
            $(#[$doc:meta])* $name:ident: $Policy:ty => $Compiled:ty,
            $(#[$none_doc:meta])* $none:ident;
        )* }
        route { $($(#[$own_doc:meta])* $own:ident: $Own:ty => $OwnCompiled:ty,)* }
    ) => {
        /// The policy of a route but for who may call.
        #[derive(Debug, Default)]
        pub(crate) struct CompiledRoutePolicy {
            pub(crate) cors: Option<Arc<Cors>>,
            $(pub(crate) $name: Option<$Compiled>,)*
            $(pub(crate) $own: Option<$OwnCompiled>,)*
            /// The most bytes of a body.
            pub(crate) body: u64,
            pub(crate) timeout: Duration,
            pub(crate) rate: Option<Arc<RateLimit>>,
            pub(crate) concurrency: Option<Arc<Concurrency>>,
            /// About how many fields all of that adds to an answer.
            pub(crate) fields: usize,
        }
    };
}

policy_core::facets!([define_rules]);
