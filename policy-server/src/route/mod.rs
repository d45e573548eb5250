//! The compiled routes of an app.

pub(crate) mod compiled_policy;
pub(crate) mod conditional;
pub(crate) mod jsonp;
pub(crate) mod limits;
pub(crate) mod rate_limiter;
pub(crate) mod shared_limits;
pub(crate) mod socket_limits;
