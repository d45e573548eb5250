//! Laws of cookies, origin verdicts, caching, callbacks and redirect targets, each against an
//! oracle of its own.

mod caching;
mod cookies;
mod csrf;
mod names;
