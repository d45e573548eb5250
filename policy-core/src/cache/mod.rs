//! Caching: which answers may be stored, and by whom (RFC 9111).
//!
//! [`CacheSpec`] is what somebody wrote; its rules are those of the attribute and of the start.
//! [`CachePolicy`] is one that passed them. `Caching` is a policy made ready for answers, and
//! `apply` decides what each of them says to caches.

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
    is_cacheable_by_default,
};
pub use spec::{Audience, CacheSpec, Part, Violation};
