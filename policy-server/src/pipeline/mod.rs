//! The way of one request through the gates to its response.

pub(crate) mod admission;
pub(crate) mod dispatch;
pub(crate) mod layer;
pub(crate) mod request_body;
pub(crate) mod respond;
pub(crate) mod response_future;
pub(crate) mod service;
