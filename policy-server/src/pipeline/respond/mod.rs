//! Gate 13: the headers of every response.

pub(crate) mod head;
mod policy;

pub(crate) use policy::{ACCEPT_QUERY, ResponsePolicy};
