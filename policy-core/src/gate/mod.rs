//! The gates that need nothing but the head of a request: what is asked before a route is
//! known, and the CORS decision once it is.
//!
//! The order is fixed, and a server calls: [`Head::read`] (one pass over the fields), then
//! [`Head::well_formed`], [`Head::target`] and [`OwnOrigin::admit`] (gates 1 and 2), its router
//! (3), [`Head::is_preflight`] and [`Cors::preflight`](crate::cors::Cors::preflight)'s answer (4),
//! its handler, and [`Cors::apply`](crate::cors::Cors::apply) or [`remove_cors`](crate::cors::remove_cors) on every answer (13).

mod head;
mod own_origin;
mod target;
mod wire;

pub use head::{Head, Single};
pub use own_origin::{OwnOrigin, PublicOrigin};
pub use target::{NormalPath, decode_parameter, lookup_path};
pub use wire::join_cookie_lines;
