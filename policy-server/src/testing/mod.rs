//! Tests of policies: a browser that needs no sockets, and laws that hold for an app (feature
//! `testing`, for `[dev-dependencies]`).
//!
//! - `Network`, `Browser` and `Tab`: what a page at some origin may do with an app
//! - `policy_tests!`: the laws of policies, on every combination that
//!   makes a difference to an app

#[cfg(feature = "proptest")]
pub mod strategies;

pub use policy_core::browser::{
    CacheMode, Credentials, Destination, Fetch, Mode, Profile, Redirect, ThirdParty,
};
