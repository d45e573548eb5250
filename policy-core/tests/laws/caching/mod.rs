//! The final `Cache-Control`: a table of cases, and laws with an RFC 9111 cache that is written
//! from the standard.

mod laws;
mod table;
