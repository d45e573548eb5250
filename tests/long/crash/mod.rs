//! A server with the embedded store, killed with SIGKILL at random moments while clients log in,
//! log out, write and revoke. What it acknowledged still holds after a restart.
//!
//! The test kills it three times, `cargo xtask long crash` a hundred times. A kill loses nothing
//! that is in the page cache of the system; the tests of the store itself cover lost syncs. In every
//! second round the file cannot grow for a while before.

mod client;
mod connection;
mod full_disk;
mod rounds;
mod server;

use policy_tests::{process, random};
