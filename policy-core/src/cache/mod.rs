//! Caching: which answers may be stored, and by whom (RFC 9111).
//!
//! [`CacheSpec`] is what somebody wrote; its rules are those of the attribute and of the start.
//! [`CachePolicy`] is one that passed them. `Caching` is a policy made ready for answers, and
//! `finish` decides what each of them says to caches.

mod check;
#[cfg(feature = "engine")]
mod directives;
#[cfg(feature = "engine")]
mod finish;
mod policy;
mod spec;

#[cfg(feature = "engine")]
pub use finish::{
    Caching, Exchange, Happened, finish, forbid_storing, forget_age, is_cacheable_by_default,
};
pub use policy::{CachePolicy, CachePolicyBuilder};
pub use spec::{Audience, CacheSpec, Part, Violation};
