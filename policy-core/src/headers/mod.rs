//! Header groups, and the security headers of responses.

mod check;
#[cfg(feature = "engine")]
mod compiled;
pub mod csp;
#[cfg(feature = "engine")]
pub mod groups;
#[cfg(feature = "engine")]
mod nonce;
mod permissions;
mod policy;
mod spec;

#[cfg(feature = "engine")]
pub use compiled::{SecurityHeaders, is_page};
#[cfg(feature = "engine")]
pub use nonce::Nonce;
pub use policy::{HeadersPolicy, HeadersPolicyBuilder};
pub use spec::{Frame, HeadersPart, HeadersSpec};
