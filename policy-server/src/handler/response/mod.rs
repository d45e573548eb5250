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
//! | [`ChosenMediaType`](crate::handler::extract::ChosenMediaType) | the chosen media type |
//!
//! [`Created`] and [`NoContent`] are responses whose type states their status, and [`Page`] is a page of a
//! list. With the feature `sse`, the module `sse` has streams of events.
//!
//! [`Json::etag`](crate::handler::extract::Json::etag) and [`Page::etag`] derive the tag from the bytes
//! of the JSON.

mod byte_ranges;
mod created;
mod page;
mod tagged_json;
mod validators;

pub use byte_ranges::ByteRanges;
pub use created::{Created, NoContent};
pub use page::Page;
pub use tagged_json::TaggedJson;
pub use validators::{ETag, LastModified};

/// Streams of events (HTML, Server-sent events), by axum (feature `sse`).
///
/// ```
/// use std::convert::Infallible;
///
/// use futures_util::{Stream, stream};
/// use policy_server::{prelude::*, response::sse::{Event, KeepAlive, Sse}};
///
/// #[get("/events")]
/// #[auth(public)]
/// async fn events() -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
///     let events = stream::iter(["one", "two"].map(|data| Ok(Event::default().data(data))));
///     Sse::new(events).keep_alive(KeepAlive::default())
/// }
/// # assert!(App::new(()).routes(routes![events]).check().is_ok());
/// ```
#[cfg(feature = "sse")]
pub mod sse {
    pub use axum::response::sse::{Event, KeepAlive, Sse};
}
