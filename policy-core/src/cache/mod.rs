//! Caching: which responses may be stored, and by which caches (RFC 9111).
//!
//! [`CacheSpec`] is a policy as written, before validation; attributes and the start apply the same
//! rules to it. [`CachePolicy`] is a validated spec. `Caching` is the compiled policy, and `apply`
//! writes the final `Cache-Control` of each response.

mod check;
#[cfg(feature = "engine")]
mod directives;
mod policy;
#[cfg(feature = "engine")]
mod response;
mod spec;

pub use policy::{CachePolicy, CachePolicyBuilder};
#[cfg(feature = "engine")]
pub use response::{
    CacheExchange, Caching, ResponseFacts, apply, forbid_storing, forget_age,
    is_cacheable_by_default, is_rival,
};
pub use spec::{Audience, CachePart, CacheSpec};
