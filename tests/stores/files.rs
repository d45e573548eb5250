//! Servers that tests start leave no files behind.

use std::{
    path::{Path, PathBuf},
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use policy_tests::guard::Guarded;

/// Starts a server that waits, in a folder of its own.
fn start(name: &str) -> (Guarded, PathBuf) {
    let folder = std::env::temp_dir().join(format!("policy-{name}-{}", std::process::id()));
    let server = Guarded::new(folder.clone());
    server.start(Command::new("sh"), "KILL", Path::new("sleep"), ["600"]);
    (server, folder)
}

#[test]
fn a_server_that_was_stopped_leaves_its_files_until_it_is_dropped() {
    let (server, folder) = start("stopped");
    assert!(server.is_running());
    server.stop();
    assert!(!server.is_running());
    assert!(folder.exists(), "it may be started again");
    drop(server);
    assert!(!folder.exists());
}

#[test]
fn the_files_of_a_server_that_runs_are_removed_behind_it() {
    let (server, folder) = start("running");
    drop(server);
    let end = Instant::now() + Duration::from_secs(60);
    while folder.exists() {
        assert!(Instant::now() < end, "{} is left", folder.display());
        sleep(Duration::from_millis(20));
    }
}
