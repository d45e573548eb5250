//! The gates that need only the head of a request: those before routing, and the CORS decision
//! after it.
//!
//! The order is fixed. A server calls [`Head::read`] (one pass over the headers), then
//! [`Head::well_formed`], [`Head::target`] and [`OwnOrigin::admit`] (gates 1 and 2), its router
//! (3), [`Head::is_preflight`] and the response of
//! [`Cors::preflight`](crate::cors::Cors::preflight) (4), its handler, and
//! [`Cors::apply`](crate::cors::Cors::apply) or [`remove_cors`](crate::cors::remove_cors) on every
//! response (13).

mod head;
mod own_origin;
mod target;
mod wire;

pub use head::{Head, Single};
pub use own_origin::{OwnOrigin, PublicOrigin};
pub use target::{NormalPath, decode_parameter, lookup_path};
pub use wire::join_cookie_lines;
