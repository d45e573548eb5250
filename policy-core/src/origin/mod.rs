//! Origins of pages, and sets of origins that a policy grants.
//!
//! [`OriginPattern`] is one entry of a policy, checked by the one strict parser of this crate.
//! [`Origin`] is the value of a request, split into its parts and never normalised. [`OriginSet`]
//! holds patterns and answers two questions: does the set contain an origin, and does it contain
//! another set. [`Site`] decides which origins are same-site.

mod host;
mod pattern;
mod public_suffix;
mod request;
#[cfg(feature = "engine")]
mod set;
#[cfg(feature = "engine")]
mod site;

#[cfg(feature = "engine")]
pub(crate) use host::is_loopback as is_loopback_host;
pub use pattern::{OriginPattern, Port};
pub(crate) use public_suffix::covers_public_suffix;
#[cfg(feature = "manifest")]
pub(crate) use public_suffix::{is_public_suffix, registrable_domain};
pub use request::Origin;
#[cfg(feature = "engine")]
pub use set::OriginSet;
#[cfg(feature = "engine")]
pub use site::Site;

/// No origin is longer: a scheme of 64 bytes, `://`, a host of 253 and a port of 6.
pub const MAX_ORIGIN_LEN: usize = 326;
