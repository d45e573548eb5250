//! Runs of any duration; as tests they take a few seconds.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    reason = "what a test cannot do without fails it"
)]

mod attack;
mod crash;
mod h2spec;
mod object_timing;
mod soak;
mod tutorial;

use tokio::sync::{Mutex, MutexGuard};

/// Waits until no other test of this binary runs, since each measures the whole machine.
async fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::const_new(());
    MACHINE.lock().await
}
