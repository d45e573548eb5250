//! The commands, one file or folder each: its arguments, and what it does.

#[cfg(feature = "audit")]
pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod code;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod lint;
pub(crate) mod man;
pub(crate) mod new;
pub(crate) mod openapi;
#[cfg(feature = "play")]
pub(crate) mod play;
pub(crate) mod show;
pub(crate) mod validate;
