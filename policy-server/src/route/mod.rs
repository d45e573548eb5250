//! The routes of an app as they are compiled at start.

pub(crate) mod conditional;
pub(crate) mod jsonp;
pub(crate) mod limits;
pub(crate) mod route_policy;
pub(crate) mod router;
