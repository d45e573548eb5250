//! Sessions: what they are, when they end, and what may become of them.

mod id;
mod record;

pub use id::{Handle, SessionId, SessionKey};
pub use record::{Identity, Record};
