//! What a handler says about its answer, beside the answer.
//!
//! These stand in front of a body, as status codes and header fields do:
//! `(ETag::version(7), Json(lamp))`. An app answers conditional requests and ranges by them.
//!
//! | part | says |
//! |---|---|
//! | [`ETag`] | which state of the resource it is |
//! | [`LastModified`] | since when it is this state |
//! | [`ByteRanges`] | that parts of it may be asked for |
//! | [`Chosen`](crate::handler::extract::Chosen) | which of several media types it has |
//!
//! [`Json::etag`](crate::handler::extract::Json::etag) gives JSON the tag of its own bytes.

mod byte_ranges;
mod tagged_json;
mod validators;

pub use byte_ranges::ByteRanges;
pub use tagged_json::TaggedJson;
pub use validators::{ETag, LastModified};
