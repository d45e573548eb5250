//! `cargo xtask long`: runs that take too long for every change.

use std::process::Command;

use crate::{
    Failure, Outcome,
    command::{self, cargo, program},
    compile_time, docs, faults, folders, project,
    setup::{
        self, CHROMEDRIVER, CHROMIUM, CURL, FIREFOX, GIT, IMG2WEBP, NGINX, NODE, NPM, POSTGRES,
        PYTHON, REDIS, SLOWHTTPTEST, WEBKIT, XVFB, cargo_tool,
    },
    steps::with_env,
    test::clippy,
};

/// A long run: name, what it shows, how long it takes on two cores.
struct Long {
    name: &'static str,
    purpose: &'static str,
    duration: &'static str,
    run: fn(&[&str]) -> Outcome,
}

const RUNS: &[Long] = &[
    Long {
        name: "laws",
        purpose: "property tests with 100,000 cases each",
        duration: "15 min",
        run: laws,
    },
    Long {
        name: "floods",
        purpose: "a flood of addresses against a million clients, under each rate",
        duration: "10 min",
        run: floods,
    },
    Long {
        name: "fuzz",
        purpose: "random inputs to the parsers of untrusted data; [TARGET] [--seconds N]",
        duration: "5 min",
        run: fuzz,
    },
    Long {
        name: "requests",
        purpose: "random requests, every policy on; [--count N], a million by default",
        duration: "5 min",
        run: requests,
    },
    Long {
        name: "metrics",
        purpose: "random requests, which add no series; [--count N], a million by default",
        duration: "5 min",
        run: metrics,
    },
    Long {
        name: "diff",
        purpose: "comparisons of large policies against random requests; [PAIRSxREQUESTS]",
        duration: "2 h",
        run: diff,
    },
    Long {
        name: "browser-diff",
        purpose: "the model of a browser against real ones; [--cases N] [--seed S] [--engine E]",
        duration: "40 min",
        run: browser_diff,
    },
    Long {
        name: "crash",
        purpose: "a server killed at random moments keeps what it acknowledged; [ROUNDS]",
        duration: "5 min",
        run: crash,
    },
    Long {
        name: "stores",
        purpose: "clients while stores and instances die, hang and are unreachable; [SECONDS]",
        duration: "20 min",
        run: stores,
    },
    Long {
        name: "attack",
        purpose: "other clients during slow clients, floods and a crowd; [SECONDS] of each",
        duration: "10 min",
        run: attack,
    },
    Long {
        name: "h2spec",
        purpose: "the cases of h2spec, over TLS and with prior knowledge; [PROGRAM]",
        duration: "5 min",
        run: h2spec,
    },
    Long {
        name: "soak",
        purpose: "steady load while certificates and processes change: nothing lost; [SECONDS]",
        duration: "30 min",
        run: soak,
    },
    Long {
        name: "faults",
        purpose: "seeded faults are killed by their tests, and a matrix; [FILTER ..] [--resume]",
        duration: "30 min",
        run: seeded_faults,
    },
    Long {
        name: "mutants",
        purpose: "tests notice the mutations of cargo-mutants in a file or folder; PATH",
        duration: "30 min",
        run: mutants,
    },
    Long {
        name: "object-timing",
        purpose: "the time of a 404 does not tell objects of others from none; [ROUNDS]",
        duration: "1 min",
        run: object_timing,
    },
    Long {
        name: "tutorial",
        purpose: "README and tutorial to the letter, up to images and a deployed service",
        duration: "15 min",
        run: tutorial,
    },
    Long {
        name: "guide",
        purpose: "the chapters of the guide with axe, on a screen and a phone, in light and dark",
        duration: "10 min",
        run: guide,
    },
    Long {
        name: "schemathesis",
        purpose: "input within and outside of the documents of two examples; [SECONDS each]",
        duration: "20 min",
        run: schemathesis,
    },
    Long {
        name: "recording",
        purpose: "records the quickstart in a browser for the README: docs/quickstart.webp",
        duration: "5 min",
        run: recording,
    },
    Long {
        name: "compile-time",
        purpose: "300 handlers against plain axum: check at most 3x, build faster; at most 1.3x with a document",
        duration: "5 min",
        run: compile_time,
    },
    Long {
        name: "deny",
        purpose: "licences, bans and sources of all dependencies (deny.toml)",
        duration: "5 min",
        run: deny,
    },
    Long {
        name: "features",
        purpose: "the lints of the libraries with each of their features alone",
        duration: "5 min",
        run: features,
    },
    Long {
        name: "oldest-rust",
        purpose: "everything but one example compiles with the stated `rust-version`",
        duration: "5 min",
        run: oldest_rust,
    },
    Long {
        name: "package",
        purpose: "the crates that are published build alone, from their packages",
        duration: "5 min",
        run: package,
    },
    Long {
        name: "bench",
        purpose: "speed beside other servers: benches/run; [MODE ..] as benches/README.md says",
        duration: "30 min",
        run: bench,
    },
    Long {
        name: "instructions",
        purpose: "no request costs 1 % more than benches/budget.json says; [--renew] writes it",
        duration: "10 min",
        run: instructions,
    },
];

/// Runs the long run of that name, or prints their list.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Outcome {
    if name == "list" {
        for long in RUNS {
            println!("{:<14}{:<78}{}", long.name, long.purpose, long.duration);
        }
        return Ok(());
    }
    let names = || RUNS.iter().map(|long| long.name).collect::<Vec<_>>().join(", ");
    match RUNS.iter().find(|long| long.name == name) {
        Some(long) => (long.run)(arguments),
        None => {
            Err(Failure::new(format!("no long run is named `{name}`; the names are {}", names())))
        }
    }
}

fn laws(arguments: &[&str]) -> Outcome {
    let packages = ["policy-browser", "policy-core-tests", "policy-manifest", "policy-tests"];
    let packages: Vec<&str> = packages.iter().flat_map(|name| ["--package", name]).collect();
    let laws = [&["test", "--release"], &packages[..], &["--test", "laws", "--"], arguments];
    command::run(&mut with_env(cargo(&laws.concat()), "PROPTEST_CASES", "100000"))
}

/// At full size; every test run has a smaller one.
fn floods(arguments: &[&str]) -> Outcome {
    no_arguments("floods", arguments)?;
    let laws = ["test", "--release", "--package", "policy-core-tests", "--test", "laws"];
    let test = cargo(&[&laws[..], &["--", "floods::", "--nocapture", "--test-threads=1"]].concat());
    command::run(&mut with_env(test, "POLICY_FLOODS_SCALE", "1"))
}

/// The modules of `tests/fuzz/targets`, each of which has a corpus.
const TARGETS: &[&str] = &[
    "token",
    "json",
    "jwks",
    "cookie",
    "set_cookie",
    "authorization",
    "origin",
    "record",
    "manifest",
    "curl",
    "har",
    "wire",
];

/// The time is divided among the targets.
fn fuzz(arguments: &[&str]) -> Outcome {
    let (target, seconds) = match arguments {
        [] => (None, "300"),
        ["--seconds", seconds] => (None, *seconds),
        [target] => (Some(*target), "300"),
        [target, "--seconds", seconds] => (Some(*target), *seconds),
        _ => return Err(Failure::new("`fuzz` takes a target at most, and `--seconds N`")),
    };
    let seconds: f64 =
        seconds.parse().map_err(|_number| Failure::new("`--seconds` takes a number"))?;
    let (filter, each) = match target {
        None => ("targets::".to_owned(), seconds / TARGETS.len() as f64),
        Some(target) if TARGETS.contains(&target) => (format!("targets::{target}::"), seconds),
        Some(target) => {
            let all = TARGETS.join(", ");
            return Err(Failure::new(format!(
                "no target is named `{target}`; the names are {all}"
            )));
        }
    };
    let test_arguments = [&filter, "--nocapture", "--test-threads=1"];
    let command = suite("fuzz", &["--release"], &test_arguments);
    command::run(&mut with_env(command, "POLICY_FUZZ_SECONDS", &each.to_string()))
}

fn requests(arguments: &[&str]) -> Outcome {
    let test = suite("fuzz", &["--release"], &["requests::", "--nocapture"]);
    command::run(&mut with_env(test, "POLICY_FUZZ_REQUESTS", count("requests", arguments)?))
}

fn metrics(arguments: &[&str]) -> Outcome {
    let test = suite("metrics", &["--release"], &["cardinality::", "--nocapture"]);
    command::run(&mut with_env(test, "POLICY_METRICS_REQUESTS", count("metrics", arguments)?))
}

/// How many requests to send.
fn count<'a>(run: &str, arguments: &[&'a str]) -> Outcome<&'a str> {
    match arguments {
        [] => Ok("1000000"),
        ["--count", count] => Ok(count),
        _ => Err(Failure::new(format!("`{run}` takes `--count N` at most"))),
    }
}

/// A hundred pairs of apps with a million requests each.
fn diff(arguments: &[&str]) -> Outcome {
    let size = one_or("100x1000000", "diff", "PAIRSxREQUESTS", arguments)?;
    let test = suite("laws", &["--release"], &["manifest::diff::large::", "--nocapture"]);
    command::run(&mut with_env(test, "POLICY_DIFF", size))
}

/// Each engine as installed, Chromium and Firefox also with third-party cookies, with this many cases
/// each.
fn browser_diff(arguments: &[&str]) -> Outcome {
    let (mut cases, mut seed, mut case, mut engine) = ("5000", "1", None, "");
    for pair in arguments.chunks(2) {
        match pair {
            ["--cases", number] => cases = number,
            ["--seed", number] => seed = number,
            ["--case", number] => case = Some(*number),
            ["--engine", name @ ("chromium" | "firefox" | "webkit")] => engine = name,
            _ => {
                return Err(Failure::new(
                    "`browser-diff` takes `--cases N`, `--seed S`, `--case N` and `--engine` with \
                     `chromium`, `firefox` or `webkit`",
                ));
            }
        }
    }
    setup::require(&[CHROMIUM, CHROMEDRIVER, FIREFOX, WEBKIT, XVFB])?;
    let filter = format!("diff::{engine}");
    let test_arguments = [&filter, "--ignored", "--nocapture", "--test-threads=1"];
    let test = with_env(suite("browser", &[], &test_arguments), "POLICY_DIFF_CASES", cases);
    let test = with_env(test, "POLICY_DIFF_SEED", seed);
    command::run(&mut match case {
        Some(case) => with_env(test, "POLICY_DIFF_CASE", case),
        None => test,
    })
}

fn crash(arguments: &[&str]) -> Outcome {
    let rounds = one_or("100", "crash", "the number of rounds", arguments)?;
    let test = suite("long", &[], &["crash::", "--nocapture"]);
    command::run(&mut with_env(test, "POLICY_CRASH_ROUNDS", rounds))
}

fn stores(arguments: &[&str]) -> Outcome {
    setup::require(&[POSTGRES, REDIS])?;
    let seconds = one_or("300", "stores", "the number of seconds", arguments)?;
    let named = [
        "histories_of_",
        "nothing_brings_a_deleted_session_back",
        "a_full_disk_",
        "a_failover_without_wait_",
    ];
    let test = suite("stores", &[], &[&named[..], &["--ignored", "--nocapture"]].concat());
    let test = with_env(test, "POLICY_STORES_RACES", "10000");
    command::run(&mut with_env(test, "POLICY_STORES_SECONDS", seconds))?;
    // One store after the other, since the table has times.
    let named = ["visitors_recover_", "--ignored", "--nocapture", "--test-threads=1"];
    let test = suite("stores", &[], &named);
    command::run(&mut with_env(test, "POLICY_STORES_SECONDS", seconds))
}

/// One after the other, so that each has the machine to itself.
fn attack(arguments: &[&str]) -> Outcome {
    setup::require(&[SLOWHTTPTEST])?;
    let seconds = one_or("60", "attack", "the number of seconds", arguments)?;
    let test_arguments = ["attack::", "--include-ignored", "--nocapture", "--test-threads=1"];
    let test = suite("long", &["--release"], &test_arguments);
    command::run(&mut with_env(test, "POLICY_ATTACK_SECONDS", seconds))
}

/// h2spec is a program in Go that no distribution has. Build it with `go install
/// github.com/summerwind/h2spec/cmd/h2spec@v2.6.0` before this run.
fn h2spec(arguments: &[&str]) -> Outcome {
    let program = one_or("h2spec", "h2spec", "the path of the program", arguments)?;
    if !command::answers(&mut command::program(program, &["--version"])) {
        return Err(Failure::new(format!(
            "`{program}` does not run\nhelp: install h2spec by `go install \
             github.com/summerwind/h2spec/cmd/h2spec@v2.6.0`, and name its path"
        )));
    }
    let test = suite("long", &[], &["h2spec::", "--include-ignored", "--nocapture"]);
    command::run(&mut with_env(test, "POLICY_H2SPEC", program))
}

fn soak(arguments: &[&str]) -> Outcome {
    let seconds = one_or("1800", "soak", "the number of seconds", arguments)?;
    let test = suite("long", &["--release"], &["soak::", "--nocapture"]);
    command::run(&mut with_env(test, "POLICY_SOAK_SECONDS", seconds))
}

fn object_timing(arguments: &[&str]) -> Outcome {
    let rounds = one_or("20000", "object-timing", "the number of rounds", arguments)?;
    let test = suite("long", &["--release"], &["object_timing::", "--nocapture"]);
    command::run(&mut with_env(test, "POLICY_TIMING_ROUNDS", rounds))
}

/// Tests of one binary of `tests`.
fn suite(name: &str, options: &[&str], arguments: &[&str]) -> Command {
    let test = ["test", "--package", "policy-tests", "--test", name];
    cargo(&[&test[..], options, &["--"], arguments].concat())
}

fn seeded_faults(arguments: &[&str]) -> Outcome {
    setup::require(&[CHROMIUM, CHROMEDRIVER, GIT])?;
    let (filters, is_resumed) = match arguments {
        [filters @ .., "--resume"] => (filters, true),
        filters => (filters, false),
    };
    let selection = match filters {
        [] => faults::Selection::All,
        filters => faults::Selection::Matching(filters),
    };
    faults::run(selection, is_resumed)?.into_outcome()
}

/// Every test run also assembles its parts, but does not run them.
fn tutorial(arguments: &[&str]) -> Outcome {
    no_arguments("tutorial", arguments)?;
    setup::require(&[CHROMIUM, CHROMEDRIVER, CURL, GIT, NGINX, NODE, NPM, PYTHON])?;
    let new =
        ["test", "--package", "policy-cli", "--test", "cli", "new_services", "--", "--ignored"];
    command::run(&mut cargo(&new))?;
    command::run(&mut suite("long", &[], &["tutorial::", "--include-ignored", "--nocapture"]))
}

/// Not part of every test run, since mdBook takes minutes to install.
fn guide(arguments: &[&str]) -> Outcome {
    no_arguments("guide", arguments)?;
    setup::require(&[CHROMIUM, CHROMEDRIVER, NODE, NPM, PYTHON])?;
    setup::peers()?;
    docs::guide()?;
    command::run(&mut suite("browser", &[], &["guide::", "--ignored"]))
}

/// Each test run has a minute of it, with the same seed.
fn schemathesis(arguments: &[&str]) -> Outcome {
    let seconds = one_or("600", "schemathesis", "the number of seconds", arguments)?;
    setup::require(&[NODE, NPM, PYTHON])?;
    setup::peers()?;
    let packages = ["test", "--package", "tasks", "--package", "accounts", "--test", "service"];
    let named = ["--", "schemathesis_", "--ignored", "--nocapture", "--test-threads=1"];
    let test = cargo(&[&packages[..], &named].concat());
    command::run(&mut with_env(test, "POLICY_SCHEMATHESIS_SECONDS", seconds))
}

fn recording(arguments: &[&str]) -> Outcome {
    no_arguments("recording", arguments)?;
    setup::require(&[CHROMIUM, CHROMEDRIVER, IMG2WEBP])?;
    command::run(&mut suite("browser", &[], &["recording::", "--ignored"]))
}

fn compile_time(arguments: &[&str]) -> Outcome {
    no_arguments("compile-time", arguments)?;
    compile_time::run()
}

/// Mechanical mutations of one module, in contrast to the chosen seeded faults: a survivor is
/// either a missing test or a change without effect, which a person has to decide.
fn mutants(arguments: &[&str]) -> Outcome {
    let [path] = arguments else {
        return Err(Failure::new("`mutants` takes a path, such as `policy-core/src/cookie`"));
    };
    let Some((package, _)) = path.split_once("/src/") else {
        return Err(Failure::new(format!("`{path}` is not below the `src` of a package")));
    };
    let is_folder = folders::root().join(path).is_dir();
    let files = if is_folder { format!("{path}/**/*.rs") } else { (*path).to_owned() };
    let target = folders::target();
    let mut cargo_mutants = cargo_tool("cargo-mutants", "27.1.0")?;
    cargo_mutants.args(["mutants", "--package", package, "--file", &files, "--all-features"]);
    // The tests of a public API are a package of their own. Cargo runs a package's own tests first, and
    // stops at the first binary that fails.
    let outside = [("policy-core", "policy-core-tests"), ("policy-server", "policy-tests")];
    if let Some((_, tests)) = outside.iter().find(|(of, _)| *of == package) {
        cargo_mutants.args(["--test-package", &format!("{package},{tests}")]);
    }
    cargo_mutants.arg("--output").arg(&target).args(["--", "--tests"]);
    // These builds are not debugged, and minimal cases are not needed.
    let mutants = with_env(cargo_mutants, "CARGO_PROFILE_DEV_DEBUG", "none");
    command::run(&mut with_env(mutants, "PROPTEST_MAX_SHRINK_ITERS", "0"))
}

/// Advisories are not checked: their list would have to be downloaded.
fn deny(arguments: &[&str]) -> Outcome {
    no_arguments("deny", arguments)?;
    let mut cargo_deny = cargo_tool("cargo-deny", "0.20.2")?;
    command::run(cargo_deny.args(["check", "licenses", "bans", "sources"]))
}

fn features(arguments: &[&str]) -> Outcome {
    no_arguments("features", arguments)?;
    let libraries = ["policy-core", "policy-server"];
    let packages = project::packages()?;
    for package in packages.iter().filter(|package| libraries.contains(&&*package.name)) {
        for feature in package.features() {
            let alone = ["--all-targets", "--no-default-features", "--features", feature];
            command::run(&mut clippy(&[&["--package", &*package.name], &alone[..]].concat()))?;
        }
    }
    Ok(())
}

fn oldest_rust(arguments: &[&str]) -> Outcome {
    no_arguments("oldest-rust", arguments)?;
    let mut packages = project::packages()?.into_iter();
    let server = packages.find(|package| package.name == "policy-server");
    let version = server.and_then(|package| package.rust_version);
    let version = version.ok_or_else(|| Failure::new("policy-server has no `rust-version`"))?;
    // In a separate folder, so that the user's toolchains are not changed.
    let home = folders::target().join("rustup");
    let rustup = |arguments: &[&str]| {
        let mut rustup = program("rustup", arguments);
        rustup.env("RUSTUP_HOME", &home);
        command::run(&mut rustup)
    };
    rustup(&["toolchain", "install", &version, "--profile", "minimal", "--no-self-update"])?;
    // sqlx, below this example, needs a later one.
    let check = ["check", "--workspace", "--exclude", "tasks", "--all-targets"];
    rustup(&[&["run", &version, "cargo"], &check[..]].concat())
}

/// Together, so that each finds those of this tree that it depends on.
fn package(arguments: &[&str]) -> Outcome {
    no_arguments("package", arguments)?;
    let named = project::PUBLISHED.iter().flat_map(|name| ["--package", name]);
    let package: Vec<&str> = ["package", "--allow-dirty"].into_iter().chain(named).collect();
    command::run(&mut cargo(&package))
}

/// It lists the programs that it needs.
fn bench(arguments: &[&str]) -> Outcome {
    command::run(&mut program("benches/run", arguments))
}

fn instructions(arguments: &[&str]) -> Outcome {
    bench(&[&["budget"], arguments].concat())
}

/// The only argument, or this default.
fn one_or<'a>(default: &'a str, run: &str, what: &str, arguments: &[&'a str]) -> Outcome<&'a str> {
    match arguments {
        [] => Ok(default),
        [one] => Ok(one),
        _ => Err(Failure::new(format!("`{run}` takes {what} at most"))),
    }
}

fn no_arguments(name: &str, arguments: &[&str]) -> Outcome {
    if arguments.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("`{name}` takes no arguments")))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;

    #[test]
    fn every_corpus_belongs_to_a_target() {
        let folder = folders::root().join("tests/fuzz/corpus");
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().replace(".txt", "");
        let found: BTreeSet<String> =
            fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap())).collect();
        assert_eq!(found, TARGETS.iter().map(|target| (*target).to_owned()).collect());
    }
}
