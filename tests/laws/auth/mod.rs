//! The laws of who may do what: sessions, tokens, CSRF and caches, over the whole server.
//!
//! What a client can see is all that they judge by. What the parts promise each other is tested
//! where they are.

mod access_matrix;
mod caches;
mod cookies;
mod effects;
mod faults_of_tokens;
mod pages;
mod preflights;
mod revocations;
mod sequences;
pub(crate) mod test_server;
