//! Bodies: what the server accepts as one, reading a whole body, and observing one while it is read.

mod collect;
mod limited;
mod message;
mod observed;
mod polled;
mod size;

pub use collect::BodyRejection;
#[cfg(feature = "gateway")]
pub(crate) use limited::is_too_long;
pub use message::MessageBody;
pub(crate) use {
    collect::collect,
    limited::{Excess, limit_again, limited},
    observed::{BodyObserver, ObservedBody, PolledFrame},
    polled::PolledBody,
    size::longer,
};
