//! A server with the embedded store, killed with SIGKILL at random moments while clients log in,
//! log out, write and revoke: what it acknowledged holds when it is started again.
//!
//! As a test it is killed three times; `cargo xtask long crash` does it a hundred times. What the
//! system kept of the file survives such a kill; that a lost sync loses nothing is shown beside
//! the store itself. In every second round the file cannot grow for a while before.

mod client;
mod connection;
mod full_disk;
mod rounds;
mod server;

use policy_tests::{process, random};
