//! What everything above needs: the clock, errors, problems.

pub(crate) mod clock;
pub(crate) mod error;
pub(crate) mod problem;
#[cfg(any(feature = "asym", feature = "proxy"))]
pub(crate) mod tls_roots;
