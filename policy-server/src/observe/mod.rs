//! Observability: spans and traces, the access log, decision records, the decisions of a candidate policy,
//! request ids, metrics and health probes.

pub(crate) mod access_log;
#[cfg(feature = "manifest")]
pub(crate) mod candidate;
#[cfg(feature = "manifest")]
pub(crate) mod decision_record;
pub(crate) mod health;
#[cfg(feature = "metrics")]
pub(crate) mod metrics;
pub(crate) mod observation;
pub(crate) mod request_id;
pub(crate) mod span;
pub(crate) mod traces;
