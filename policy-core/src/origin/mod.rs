//! Origins of pages, and sets of origins that a policy grants.
//!
//! [`OriginPattern`] is one entry of a policy, checked by the one strict parser of this crate, and
//! [`OriginKind`] classifies its pages.
//! [`Origin`] is the value of a request, split into its parts and never normalised. [`OriginSet`]
//! holds patterns and answers two questions: does the set contain an origin, and does it contain
//! another set. [`Site`] decides which origins are same-site.

mod host;
mod kind;
mod pattern;
mod public_suffix;
mod request;
mod set;
#[cfg(feature = "engine")]
mod site;

pub use host::MAX_LABEL_LEN;
#[cfg(feature = "engine")]
pub(crate) use host::is_loopback as is_loopback_host;
pub use kind::OriginKind;
pub use pattern::{HostPattern, OriginPattern, Port};
pub use public_suffix::has_public_names;
#[cfg(feature = "engine")]
pub use public_suffix::registrable_domain;
pub(crate) use public_suffix::{Owners, owners};
pub use request::Origin;
pub use set::OriginSet;
#[cfg(feature = "engine")]
pub use site::Site;

/// The maximum length of an origin: a scheme of 64 bytes, `://`, a host of 253 and a port of 6.
const MAX_ORIGIN_LEN: usize = 326;
