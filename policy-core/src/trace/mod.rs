//! Traces: which trace a request belongs to, and which part of a query a trace may contain.
//!
//! [`TraceContext`] reads and writes `traceparent` and `tracestate` ([W3C Trace Context, Level
//! 2](https://www.w3.org/TR/trace-context-2/)). The server decides whether to trust the sender.
//! [`recorded_query`] keeps the parameters of a query that an app names; it may name none for which
//! [`is_credential_parameter`] is true.

mod context;
mod query;
mod state;

pub(crate) use context::is_trace_field;
pub use context::{BAGGAGE, TRACEPARENT, TRACESTATE, TraceContext};
pub use query::{is_credential_parameter, recorded_query};
