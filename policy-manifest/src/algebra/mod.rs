//! Sets of what policies grant, which can be combined, compared and shown.
//!
//! A policy names what it grants, or all but what it names. [`NameSet`] holds such sets of names:
//! methods, scopes, roles. [`OriginRegion`] holds sets of origins with wildcards and exceptions. Two
//! sets are equal exactly if they have the same members, so what a change of a policy adds or
//! takes away is a difference, and its witnesses are examples of it.

mod names;
mod origins;

pub use names::NameSet;
pub use origins::{OriginRegion, ParseOriginRegionError, Witness, WitnessKind};
