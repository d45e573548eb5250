//! Cookies: reading the cookies of a request, and setting and removing cookies of the server (RFC
//! 6265 and its successor draft-ietf-httpbis-rfc6265bis).
//!
//! - [`Cookies`] and [`presented`] read the `Cookie` fields, within limits
//! - [`CookieSpec`] describes a cookie; the same value sets and removes it; [`write`](fn@write)
//!   adds either to a response
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
pub use session::{PresentedCookie, presented};
pub use signed::SignedCookies;
pub use spec::{CookieSpec, SameSite};
pub use write::write;
