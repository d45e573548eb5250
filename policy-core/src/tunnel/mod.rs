//! Where a tunnel may lead: targets that are listed, and addresses that are nobody's inside.

mod address;
mod target;

pub use address::is_special;
pub use target::{Host, TunnelTarget};
