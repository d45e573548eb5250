//! Caching: which answers may be stored, and by whom (RFC 9111).

#[cfg(feature = "engine")]
mod directives;
#[cfg(feature = "engine")]
mod finish;
mod policy;
mod spec;

#[cfg(feature = "engine")]
pub use finish::{Happened, finish};
pub use policy::CachePolicy;
pub use spec::{Audience, CacheSpec};
