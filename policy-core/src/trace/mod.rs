//! Traces: which trace a request belongs to, and what of a query a trace may contain.
//!
//! [`TraceContext`] reads and writes `traceparent` and `tracestate` ([W3C Trace Context, Level
//! 2](https://www.w3.org/TR/trace-context-2/)). Whether its sender is believed is for the server to
//! decide. [`recorded_query`] keeps the parameters of a query that an app names, among which
//! [`is_credential_parameter`] permits none that carries a credential.

mod context;
mod query;
mod state;

pub(crate) use context::is_trace_field;
pub use context::{BAGGAGE, TRACEPARENT, TRACESTATE, TraceContext};
pub use query::{is_credential_parameter, recorded_query};
