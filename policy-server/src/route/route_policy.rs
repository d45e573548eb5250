//! What holds for a route, compiled at start: what a request is asked, and what is written onto
//! every answer.

use std::{sync::Arc, time::Duration};

use policy_core::{
    cache::Caching, cors::Cors, headers::SecurityHeaders, isolation::Isolation, jsonp::JsonpPolicy,
};

use crate::route::limits::{Concurrency, RateLimit};

/// The policy of a route but for who may call.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) cors: Option<Arc<Cors>>,
    pub(crate) caching: Option<Caching>,
    pub(crate) headers: Option<SecurityHeaders>,
    pub(crate) isolation: Option<Isolation>,
    pub(crate) jsonp: Option<JsonpPolicy>,
    /// The most bytes of a body.
    pub(crate) body: u64,
    pub(crate) timeout: Duration,
    pub(crate) rate: Option<Arc<RateLimit>>,
    pub(crate) concurrency: Option<Arc<Concurrency>>,
    /// About how many fields all of that adds to an answer.
    pub(crate) fields: usize,
}
