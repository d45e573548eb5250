//! Cross-origin resource sharing as data and decisions (Fetch, 3.3).
//!
//! [`CorsSpec`] is a policy as written, before validation. [`CorsPolicy`] is a validated spec in a
//! constant; [`CorsConfig`] is the owned form, for configuration files. Both compile to [`Cors`],
//! which decides requests.

#[cfg(feature = "engine")]
mod actual;
mod check;
#[cfg(feature = "engine")]
mod compiled;
mod config;
#[cfg(feature = "engine")]
mod cookies;
#[cfg(feature = "engine")]
mod errors;
mod extension;
mod names;
mod policy;
#[cfg(feature = "engine")]
mod preflight;
#[cfg(feature = "engine")]
mod shared;
mod spec;

#[cfg(feature = "engine")]
pub use actual::{OriginDecision, remove_cors};
#[cfg(feature = "engine")]
pub use compiled::Cors;
pub use config::CorsConfig;
#[cfg(feature = "engine")]
pub use errors::{PolicyError, PolicyErrors};
pub use extension::CorsExtension;
#[cfg(feature = "engine")]
pub use names::normalized_method;
pub use policy::{CorsPolicy, CorsPolicyBuilder};
#[cfg(feature = "engine")]
pub use preflight::Preflight;
#[cfg(feature = "engine")]
pub use shared::{OriginLists, OriginsAt, SharedOrigins};
pub use spec::{CorsPart, CorsSpec, Origins};
