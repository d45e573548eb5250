//! The laws of who may do what: sessions, tokens, CSRF and caches, over the whole server.
//!
//! They judge only by what a client can see. The contracts between the parts are tested in the
//! crates.

mod access_matrix;
mod caches;
mod cookies;
mod cut_offs;
mod effects;
mod faults_of_tokens;
mod pages;
mod preflights;
mod revocations;
mod sequences;
pub(crate) mod test_server;
