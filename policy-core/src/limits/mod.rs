//! Limits: how large, how long, how often, and how many at once.
//!
//! [`Limits`] is what a route, a group or an app says. How often somebody may ask is decided by a
//! [`RateTable`], which keeps a bounded account of who asked when.

#[cfg(feature = "engine")]
mod address;
#[cfg(feature = "engine")]
mod fields;
#[cfg(feature = "engine")]
pub mod gcra;
mod policy;
mod rate;
mod spec;
#[cfg(feature = "engine")]
mod table;
mod units;

#[cfg(feature = "engine")]
pub use address::{AddressKey, address_key};
#[cfg(feature = "engine")]
pub use fields::RateFields;
#[cfg(feature = "engine")]
pub use gcra::{Granted, Refused};
pub use policy::Limits;
pub use rate::{Rate, RateKey};
pub use spec::{LimitSpec, Part, Violation};
#[cfg(feature = "engine")]
pub use table::RateTable;
pub use units::{body_of, rate_of, timeout_of};
