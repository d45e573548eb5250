//! `cargo xtask test`: all checks, within 20 minutes.

use std::{num::NonZero, process::Command, thread};

use crate::{
    Failure, Outcome,
    command::cargo,
    faults,
    run::{Run, with_env},
    setup::{
        self, CHROMEDRIVER, CHROMIUM, CURL, FIREFOX, GIT, H2LOAD, HAPROXY, NGINX, NODE, NPM,
        POSTGRES, PYTHON, REDIS, SLOWHTTPTEST,
    },
};

/// Features that are off by default are tested together with the rest: a feature only adds, and one
/// build for all tests is cheaper than two. Clippy checks the default features too.
const FEATURES: [&str; 1] = ["--all-features"];

/// Runs every step up to the first that fails, and prints the totals last.
pub(crate) fn run() -> Outcome {
    let mut run = Run::new();
    let outcome = steps(&mut run).map_err(|failure| {
        // Before the totals, which are always the last line.
        failure.tell();
        Failure::told()
    });
    run.close();
    outcome
}

fn steps(run: &mut Run) -> Outcome {
    run.step("set-up", |_| {
        setup::require(&[
            CHROMIUM,
            CHROMEDRIVER,
            CURL,
            FIREFOX,
            GIT,
            HAPROXY,
            H2LOAD,
            NGINX,
            PYTHON,
            NODE,
            NPM,
            POSTGRES,
            REDIS,
            SLOWHTTPTEST,
        ])?;
        setup::peers()
    })?;
    let format = ["fmt", "--all", "--check"];
    let of_peers = ["--manifest-path", "benches/peers/Cargo.toml"];
    run.commands("format", [cargo(&format), cargo(&[&format[..], &of_peers].concat())])?;
    run.commands("lints", lints())?;
    run.commands(
        "tests",
        [
            with_features(&["build", "--workspace", "--examples"], &[]),
            with_built_examples(with_features(&["test", "--workspace", "--no-fail-fast"], &[])),
        ],
    )?;
    run.commands("tests that need programs", [with_built_examples(with_programs())])?;
    run.commands("documentation", [documentation()])?;
    run.step("seeded faults, a short selection", |totals| {
        let verdicts = faults::run(faults::Selection::Short, false)?;
        totals.add(verdicts.killed, verdicts.survived);
        verdicts.into_outcome()
    })
}

fn lints() -> [Command; 3] {
    let workspace = ["--workspace", "--all-targets"];
    [
        clippy(&[&workspace[..], &FEATURES].concat()),
        // The workspace unites the features of all its members, unlike users' builds. Each feature
        // alone is a long run.
        clippy(&["--package", "policy-server", "--lib"]),
        clippy(&["--package", "policy-core", "--all-targets", "--no-default-features"]),
    ]
}

/// Clippy with warnings as errors.
pub(crate) fn clippy(arguments: &[&str]) -> Command {
    cargo(&[&["clippy"], arguments, &["--", "--deny", "warnings"]].concat())
}

/// Tests that need a program which plain `cargo test` cannot expect are marked `#[ignore]` with the
/// reason, so that it lists them as left out. Here they run, and fail if the program is missing.
/// All but h2spec, which no distribution has: `cargo xtask long h2spec` takes one that was built; and
/// WebKit, which `cargo xtask long browser-diff` installs; and small disks, which only root may mount:
/// `cargo xtask long stores` does.
fn with_programs() -> Command {
    let behind = [
        "--",
        "--ignored",
        "--skip",
        "h2spec::",
        "--skip",
        "diff::webkit_",
        "--skip",
        "a_full_disk_",
    ];
    let tests = with_features(&["test", "--workspace", "--tests", "--no-fail-fast"], &behind);
    // Most of the time they wait, for a database to fail over for example.
    let threads = 2 * thread::available_parallelism().map_or(1, NonZero::get);
    with_env(tests, "RUST_TEST_THREADS", &threads.to_string())
}

/// A cargo command with the features, followed by further arguments.
fn with_features(arguments: &[&str], behind: &[&str]) -> Command {
    cargo(&[arguments, &FEATURES, behind].concat())
}

/// For the test that runs the quickstart, which was just built with these features.
fn with_built_examples(command: Command) -> Command {
    with_env(command, "POLICY_EXAMPLES", "built")
}

/// Fails on links of rustdoc that lead nowhere; those of other pages have a test in `docs/guide`.
pub(crate) fn documentation() -> Command {
    let doc = with_features(&["doc", "--workspace", "--no-deps", "--lib"], &[]);
    with_env(doc, "RUSTDOCFLAGS", "--deny warnings")
}
