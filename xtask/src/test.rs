//! `cargo xtask test`: all tests. `cargo xtask check`: what else has to hold.

use std::{collections::BTreeMap, num::NonZero, process::Command, thread};

use crate::{
    Failure, Outcome,
    command::cargo,
    faults, project,
    setup::{
        self, CHROMEDRIVER, CHROMIUM, CURL, FIREFOX, GIT, H2LOAD, HAPROXY, NGINX, NODE, NPM,
        POSTGRES, PROMETHEUS, PYTHON, REDIS, SLOWHTTPTEST,
    },
    steps::{StepRunner, with_env},
};

/// Features that are off by default are tested together with the rest: a feature only adds, and one
/// build for all tests is cheaper than two. Clippy checks the default features too.
const FEATURES: [&str; 1] = ["--all-features"];

/// Sets up, builds and runs all tests.
pub(crate) fn run() -> Outcome {
    run_steps(test_steps)
}

/// Format, lints, documentation and seeded faults.
pub(crate) fn check() -> Outcome {
    run_steps(check_steps)
}

/// Runs every step up to the first that fails, and prints the totals last.
fn run_steps(steps: impl FnOnce(&mut StepRunner) -> Outcome) -> Outcome {
    let mut run = StepRunner::new();
    let outcome = steps(&mut run).map_err(|failure| {
        // Before the totals, which are always the last line.
        failure.print();
        Failure::already_printed()
    });
    run.close();
    outcome
}

fn check_steps(run: &mut StepRunner) -> Outcome {
    run.step("set-up", |_| setup::components())?;
    let format = ["fmt", "--all", "--check"];
    let of_peers = ["--manifest-path", "benches/peers/Cargo.toml"];
    run.commands("format", [cargo(&format), cargo(&[&format[..], &of_peers].concat())])?;
    run.commands("lints", lints())?;
    let api = test(&["--test", "api"], &["--", "--ignored"]);
    run.commands("documentation", [documentation(), api])?;
    run.step("seeded faults, a short selection", |totals| {
        let verdicts = faults::run(faults::Selection::Short, false)?;
        totals.add(verdicts.killed, verdicts.survived);
        verdicts.into_outcome()
    })
}

fn test_steps(run: &mut StepRunner) -> Outcome {
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
            PROMETHEUS,
            REDIS,
            SLOWHTTPTEST,
        ])
    })?;
    let build = [
        with_features(&["build", "--workspace", "--example", "quickstart"], &[]),
        with_features(&["test", "--workspace", "--no-run"], &[]),
        // Otherwise databases under test would wait until the disk has written the build.
        Command::new("sync"),
    ];
    // Packages are downloaded while the compiler works.
    run.commands_beside("build of the tests", build, setup::peers)?;
    let targets = targets()?;
    run.side_by_side("tests", tests(&targets))
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

/// The cargo options of each target with tests, by name.
type Targets = BTreeMap<String, Vec<String>>;

fn targets() -> Outcome<Targets> {
    let mut targets = Targets::new();
    for target in project::packages()?.into_iter().flat_map(|package| package.targets) {
        let kinds = ["bin", "example", "test"];
        // `cargo xtask check` runs it after the documentation.
        if target.name == "api" {
            continue;
        }
        let options = match kinds.into_iter().find(|kind| target.is_a(kind)) {
            _ if !target.test => continue,
            Some(kind) => vec![format!("--{kind}"), target.name.clone()],
            None => vec!["--lib".to_owned()],
        };
        targets.insert(options.join(" "), options);
    }
    Ok(targets)
}

/// Three rows at once: tests that use one processor at a time, or wait; all others that use two; and
/// those that wait longest, for a browser or for a database to fail over.
///
/// Tests that need a program which plain `cargo test` cannot expect are marked `#[ignore]` with the
/// reason, so that it lists them as left out. Here they run, and fail if the program is missing.
/// The exceptions are h2spec, which no distribution has (`cargo xtask long h2spec` takes one that
/// was built); WebKit (`cargo xtask long browser-diff` installs it); small disks, which only root
/// may mount (`cargo xtask long stores`); services that build packages of their own (`cargo xtask
/// long tutorial`); the guide (`cargo xtask long guide` installs mdBook); and the recording of the
/// quickstart, which writes a file of the repository.
fn tests(targets: &Targets) -> [Vec<Command>; 3] {
    let left_out = [
        "h2spec::",
        "diff::webkit_",
        "a_full_disk_",
        "guide::",
        "recording::",
        "a_stranger_gets_from_nothing_",
        "new_services_pass_their_own_tests",
    ];
    let skipped = left_out.iter().flat_map(|name| ["--skip", name]);
    let behind: Vec<&str> = ["--", "--ignored"].into_iter().chain(skipped).collect();
    let beside = ["cli", "fuzz", "gateway", "long", "service", "tls", "ui", "wire"];
    let [few, many] = split(targets, &beside, &[]);
    let [browsers, waiting] = split(targets, &["browser"], &behind);
    let threads = 2 * thread::available_parallelism().map_or(1, NonZero::get);
    let waiting = with_env(waiting, "RUST_TEST_THREADS", &threads.to_string());
    [vec![few, test(&["--doc"], &[])], vec![many], vec![waiting, browsers]]
}

/// The tests of these names, and all others.
fn split(targets: &Targets, names: &[&str], behind: &[&str]) -> [Command; 2] {
    let is_of = |options: &[String]| matches!(options, [kind, name] if kind == "--test" && names.contains(&name.as_str()));
    let (few, others) = targets.values().partition::<Vec<_>, _>(|options| is_of(options));
    [few, others].map(|targets| {
        let options: Vec<&str> = targets.into_iter().flatten().map(String::as_str).collect();
        test(&options, behind)
    })
}

/// The tests of some targets of the workspace.
fn test(options: &[&str], behind: &[&str]) -> Command {
    let tests = ["test", "--workspace", "--no-fail-fast"];
    // For the test that runs the quickstart, which was just built with these features.
    with_env(with_features(&[&tests, options].concat(), behind), "POLICY_EXAMPLES", "built")
}

/// A cargo command with the features, followed by further arguments.
fn with_features(arguments: &[&str], behind: &[&str]) -> Command {
    cargo(&[arguments, &FEATURES, behind].concat())
}

/// Fails on links of rustdoc that lead nowhere; those of other pages have a test in `docs/guide`.
pub(crate) fn documentation() -> Command {
    let doc = with_features(&["doc", "--workspace", "--no-deps", "--lib"], &[]);
    with_env(doc, "RUSTDOCFLAGS", "--deny warnings")
}
