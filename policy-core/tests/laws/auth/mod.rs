//! Laws of cookies, origin verdicts, callbacks and redirect targets, each with a separate oracle.

mod cookies;
mod csrf;
mod names;
