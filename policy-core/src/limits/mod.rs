//! Limits: how large, how long, how often, and how many at once.
//!
//! [`Limits`] are the limits that a route, a group or an app states. A [`RateTable`] decides how
//! often each client may call, and keeps its accounts in memory of the size that a
//! [`RateCapacity`] states.

#[cfg(feature = "engine")]
mod accounts;
#[cfg(feature = "engine")]
mod address;
#[cfg(feature = "engine")]
mod capacity;
#[cfg(feature = "engine")]
mod fields;
#[cfg(feature = "engine")]
mod gcra;
mod policy;
mod rate;
mod spec;
#[cfg(feature = "engine")]
mod table;
mod units;

#[cfg(feature = "engine")]
pub use address::address_key;
#[cfg(feature = "engine")]
pub use capacity::RateCapacity;
#[cfg(feature = "engine")]
pub use fields::RateFields;
#[cfg(feature = "engine")]
pub use gcra::{Account, RateGrant, RateRefusal};
pub use policy::Limits;
pub use rate::{Rate, RateKey};
pub(crate) use spec::is_out_of_bounds;
pub use spec::{LimitPart, LimitSpec};
#[cfg(feature = "engine")]
pub use table::RateTable;
pub use units::{body_of, message_of, misses_of, rate_of, silence_of, timeout_of};
