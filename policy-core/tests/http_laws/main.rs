//! Laws of conditional requests, ranges and negotiation. Each oracle is written from the text of
//! RFC 9110 and parses nothing: it is told what a field was made of.
#![cfg(feature = "engine")]
#![expect(
    clippy::panic,
    clippy::print_stdout,
    reason = "laws fail, and say how often they were put to the test"
)]

mod conditions;
#[path = "../../../tests/support/law.rs"]
mod law;
mod negotiation;
mod ranges;

use http::{HeaderMap, HeaderName, HeaderValue};

/// Adds a line to a field.
fn append(headers: &mut HeaderMap, name: &HeaderName, line: &str) {
    headers.append(name, HeaderValue::from_bytes(line.as_bytes()).expect("a field value"));
}
