//! The base of all other modules: the clock, errors, problems.

pub(crate) mod body;
pub(crate) mod clock;
#[cfg(any(feature = "asym", feature = "gateway", feature = "redis"))]
pub(crate) mod connect;
pub(crate) mod error;
pub(crate) mod escape;
pub(crate) mod event;
pub(crate) mod kept_timer;
pub(crate) mod locks;
pub(crate) mod log;
pub(crate) mod observed_io;
pub(crate) mod problem;
#[cfg(feature = "gateway")]
pub(crate) mod relay;
pub(crate) mod secret_file;
pub(crate) mod sent_target;
pub(crate) mod slot;
pub(crate) mod stream_end;
pub(crate) mod task;
pub(crate) mod timers;
#[cfg(any(feature = "asym", feature = "gateway", feature = "postgres", feature = "redis"))]
pub(crate) mod tls_roots;
