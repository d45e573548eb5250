//! Tests of policies: a browser that needs no sockets, and laws that hold for an app (feature
//! `testing`, for `[dev-dependencies]`).
//!
//! - `Network`, `Browser` and `Tab`: what a page at some origin may do with an app
//! - `policy_tests!`: the laws of policies, on every combination that
//!   makes a difference to an app

pub(crate) mod prove;

pub use policy_core::browser::{
    CacheMode, Credentials, Destination, Fetch, Mode, Profile, Redirect, ThirdParty,
};
pub use prove::{Conduct, Exchange, every_exchange};
