//! The routes of an app as they are compiled at start.

pub(crate) mod compiled_policy;
pub(crate) mod conditional;
pub(crate) mod jsonp;
pub(crate) mod limits;
pub(crate) mod router;
