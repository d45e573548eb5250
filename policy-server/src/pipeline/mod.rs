//! The path of a request through the gates to its response.

pub(crate) mod compiled_app;
pub(crate) mod dispatch;
#[cfg(feature = "testing")]
pub(crate) mod explain;
pub(crate) mod gates;
pub(crate) mod layer;
mod normal_form;
pub(crate) mod request_head;
pub(crate) mod respond;
pub(crate) mod response_future;
pub(crate) mod service;
pub(crate) mod sockets;
#[cfg(test)]
#[cfg(feature = "asym")]
mod tests;
