//! Sets of granted origins, which can be combined, compared and shown, and conditions.
//!
//! [`OriginRegion`] holds sets of origins with wildcards and exceptions; [`implies`] compares the
//! conditions of objects. Two sets are equal exactly if they have the same members, so the access
//! that a change of a policy adds or removes is a difference of sets, and its witnesses are examples
//! of it.

mod conditions;
mod origins;

pub(crate) use conditions::constant;
pub use conditions::{ConditionWitness, Implication, implies};
pub use origins::{OriginRegion, OriginWitness, ParseOriginRegionError, WitnessKind};
