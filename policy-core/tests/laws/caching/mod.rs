//! The final `Cache-Control`: case by case, and its laws against a cache of RFC 9111 that is
//! written here from the text of the standard.

mod laws;
mod standard;
mod table;
