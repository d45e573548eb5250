//! Generated policies and origins, for property tests (feature `proptest`).
//!
//! Generated values are mostly sensible and often close to a boundary: origins that a policy grants
//! and others that only look like them, headers that need a preflight and others that just avoid
//! one. Everything shrinks to a policy with one origin and to a plain `GET`.
//!
//! - [`any_policy`]: policies that break no rule; [`any_pattern`]: entries of their lists
//! - [`any_origin`], [`any_origin_for`]: the origins of pages; [`any_origin_value_for`]: any value
//!   of `Origin`; [`NearOrigin`] if the policy is not known yet
//!
//! ```
//! use policy_core::{
//!     cors::{Cors, OriginDecision},
//!     head::Single,
//!     testing::{any_origin_value_for, any_policy},
//! };
//! use proptest::prelude::*;
//!
//! let cases = any_policy()
//!     .prop_flat_map(|policy| (Just(policy.clone()), any_origin_value_for(&policy)));
//! proptest!(|((policy, origin) in cases)| {
//!     let cors = Cors::from_config("a test", &policy).expect("a policy that breaks no rule");
//!     if let OriginDecision::Origin(named) = cors.decide_origin(Single::One(&origin)) {
//!         prop_assert_eq!(named, origin);
//!     }
//! });
//! ```

mod near;
mod origins;
mod policies;

pub use near::origins_near;
pub use origins::{
    NearOrigin, any_near_origin, any_origin, any_origin_for, any_origin_value_for, any_pattern,
};
pub use policies::any_policy;
