//! Gate 13: what is written onto every response, whoever made it.

pub(crate) mod head;
mod policy;

pub(crate) use policy::ResponsePolicy;
