//! Laws of cookies, origin verdicts, caching, callbacks and redirect targets, each with a separate
//! oracle.

mod caching;
mod cookies;
mod csrf;
mod names;
