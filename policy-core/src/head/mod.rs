//! The head of a request: what gates read of it, and the checks that need nothing else.
//!
//! [`Head::read`] collects the fields in one pass. [`Head::well_formed`], [`Head::target`] and
//! [`NormalPath::parse`] refuse what parsers could read differently, and [`OwnOrigin::admit`]
//! refuses a request for another host. [`gates`](crate::gates) states the order of the checks.

mod own_origin;
mod read;
mod target;
mod wire;

pub use own_origin::{OwnOrigin, PublicOrigin};
pub use read::{Head, Single};
pub(crate) use target::lookup_path;
pub use target::{NormalPath, decode_parameter};
pub use wire::join_cookie_lines;
