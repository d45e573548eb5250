//! Bodies: read as a whole, and watched on their way.

mod collect;
mod observed;
mod size;

pub use collect::BodyRejection;
pub(crate) use {
    collect::collect,
    observed::{BodyObserver, ObservedBody, Polled},
    size::longer,
};
