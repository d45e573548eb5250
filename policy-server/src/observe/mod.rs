//! What operators can observe: spans, the access log, request ids and health probes.

pub(crate) mod access_log;
pub(crate) mod health;
pub(crate) mod observation;
pub(crate) mod request_id;
pub(crate) mod span;
