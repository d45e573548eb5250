//! `cargo policy validate`: whether files are manifests.

use std::process::ExitCode;

use clap::Args;
use policy_manifest::{Lock, engine::Engine};

use crate::{escape::printable, failure::Failure, fleet, output::Output, shown::count};

/// Check that files are manifests or lock files.
///
/// The format is described in docs/manifest.md. A file is valid if every other command can read it, its
/// policies break no rule, and its acceptances are for the policies that its routes have.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy validate policy.lock
  ./routes.py > policy.lock && cargo policy validate policy.lock
  cargo policy validate services/ @more.txt

Exit codes: 0 all are valid, 1 a policy breaks a rule, 2 wrong use or unreadable input.")]
pub(crate) struct Arguments {
    /// Files, folders with lock files, or lists of them as `@FILE`.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let mut exit_code = ExitCode::SUCCESS;
    for input in fleet::read(&arguments.files)? {
        let problems = problems(&input.signed?)?;
        let name = printable(&input.name).to_string();
        if problems.is_empty() {
            let routes = input.manifest.routes.len();
            output.write(&format!("{name}: valid, {}\n", count(routes, "route")));
        }
        for problem in problems {
            output.write(&format!("{name}: {}\n", printable(&problem)));
            exit_code = ExitCode::from(1);
        }
    }
    Ok(exit_code)
}

/// What is wrong with a policy that can be read.
fn problems(signed: &Lock) -> Result<Vec<String>, Failure> {
    if let Err(error) = Engine::new(&signed.manifest) {
        return Ok(vec![error.to_string()]);
    }
    let stale = signed.stale().map_err(|error| Failure::new(error.to_string()))?;
    let words =
        stale.iter().map(|line| format!("accepts another policy than the route has: {line}"));
    Ok(words.collect())
}
