//! Laws of cookies, origin verdicts, caching, callbacks and redirect targets, each with an oracle
//! of its own.

mod caching;
mod cookies;
mod csrf;
mod names;
