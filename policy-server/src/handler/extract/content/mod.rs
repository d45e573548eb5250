//! Extractors of what a request contains: its body and its query.

mod body;
#[cfg(feature = "decompression")]
mod decoded;
mod form;
mod json;
pub(crate) mod media_type;
mod mismatch;
mod pairs;
mod query;
mod valid;

#[cfg(feature = "decompression")]
pub use decoded::{Decoded, DecodedRejection};
pub use form::{Form, FormRejection};
pub(crate) use json::answer as json_answer;
pub use json::{Json, JsonRejection};
pub use mismatch::Mismatch;
pub(super) use query::parse_query;
pub use query::{Query, QueryRejection};
pub use valid::{Valid, ValidRejection, Validate};
