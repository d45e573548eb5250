//! Where a tunnel may lead: listed targets, and addresses that are not internal.

mod address;
mod target;

pub use address::is_special;
pub use target::{Host, TunnelTarget};
