//! Cookies: reading those of a request, and setting and removing our own (RFC 6265 and its
//! successor draft-ietf-httpbis-rfc6265bis).
//!
//! - [`Cookies`] and [`presented`] read the `Cookie` fields, within limits
//! - [`CookieSpec`] says what a cookie is like; the one value sets it and removes it; [`write`](fn@write) puts
//!   either onto an answer
//! - [`SignedCookies`] keeps values that the client must not change

mod error;
mod read;
mod rules;
mod session;
mod signed;
mod spec;
mod write;

pub use error::CookieError;
pub use read::Cookies;
pub use session::{Presented, presented};
pub use signed::SignedCookies;
pub use spec::{CookieSpec, SameSite};
pub use write::write;
