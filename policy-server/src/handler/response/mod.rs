//! Response headers that handlers set.
//!
//! They are put in front of a body, like status codes and headers: `(ETag::version(7),
//! Json(lamp))`. The app uses them to respond to conditional and range requests.
//!
//! | part | states |
//! |---|---|
//! | [`ETag`] | the version of the resource |
//! | [`LastModified`] | when this version was created |
//! | [`ByteRanges`] | that ranges may be requested |
//! | [`Chosen`](crate::handler::extract::Chosen) | which of several media types was chosen |
//!
//! [`Json::etag`](crate::handler::extract::Json::etag) derives the tag from the bytes of the JSON.

mod byte_ranges;
mod tagged_json;
mod validators;

pub use byte_ranges::ByteRanges;
pub use tagged_json::TaggedJson;
pub use validators::{ETag, LastModified};
