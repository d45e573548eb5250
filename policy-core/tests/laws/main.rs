//! Laws of the engine and of the model of a browser, on generated cases, each with an oracle of its
//! own.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "laws fail, and say how often they were put to the test"
)]

mod auth;
mod browser;
mod caching;
mod floods;
mod forwarded;
mod headers;
mod http;
mod limits;
mod tables;
