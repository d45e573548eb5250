//! From the arguments of an attribute to what it states: policy-core is asked about literals here,
//! and by the compiler about what is behind names.

pub(crate) mod cache;
pub(crate) mod headers;
pub(crate) mod isolation;
pub(crate) mod jsonp;
pub(crate) mod limit;
