//! Parsers of what strangers send, against inputs that change at random: nothing panics, nothing
//! takes more memory than its input warrants, and every verdict is that of a second reading, which
//! is written from the standards.
//!
//! Without instrumentation of the compiler, which takes a nightly one: each check says what the
//! input did, and an input that did something new is kept and changed further. As a test each
//! target runs the same few thousand inputs; `cargo xtask long fuzz` runs others for as long as it
//! is told to.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "what a test cannot do without fails it"
)]

/// The rows of the embedded store, which no other test can read from outside.
#[path = "../policy-server/src/store/embedded/codec.rs"]
#[allow(dead_code, reason = "rows are read and written, not more")]
mod codec;

#[path = "support/exchange.rs"]
#[allow(dead_code, reason = "a part of the oracle uses it")]
mod exchange;
#[path = "support/fetch.rs"]
mod fetch;
#[path = "support/oracle.rs"]
#[allow(dead_code, reason = "every test uses a part of it")]
mod oracle;
#[path = "support/random.rs"]
mod random;

mod fuzz {
    mod authorization;
    mod cookie;
    mod engine;
    mod json;
    #[cfg(feature = "asym")]
    mod jwks;
    mod mutate;
    mod origin;
    mod record;
    mod requests;
    mod set_cookie;
    mod token;
    mod verdict;
    mod wire;
}

use policy_server::store;
