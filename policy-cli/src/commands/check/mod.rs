//! `cargo policy check`: whether policies keep to their rules.

mod junit;
mod report;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use policy_manifest::{
    Date,
    rules::{CheckError, CheckedPolicy, Rules, RulesError, check},
};

use self::report::{Group, Report};
use crate::{failure::Failure, fleet, input::Input, output::Output, package::PackageArguments};

/// Check policies by rules about them.
///
/// Rules state what must be public and nothing else, who must never reach what from where, and which
/// protections routes need. They are in policy.rules beside the lock file; `docs/rules.md` of the
/// repository describes them. Each violation has a request as an example, which the policy was asked
/// about.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy check                                        the package, by its policy.rules
  cargo policy check services                               each policy.lock below a folder
  cargo policy check --rules org.rules services/*/policy.lock
  cargo policy check --format sarif > policy-rules.sarif    for the code scanning of a host
  cargo policy check --format junit > policy-rules.xml      for the test reports of a host

Exit codes: 0 all rules hold, 1 one is violated, or matches nothing, 2 wrong use or unreadable input, 3
an error of the check itself.")]
pub(crate) struct Arguments {
    /// The policies: files, folders, whose lock files are read, and lists as @FILE [default: the
    /// policy of the package].
    #[arg(value_name = "POLICY")]
    policies: Vec<String>,
    /// Check by the rules in this file, and not by those beside the lock files. Several add up.
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,
    /// The format of the report.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    #[command(flatten)]
    package: PackageArguments,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For a terminal.
    Text,
    /// For a review.
    Markdown,
    /// For programs.
    Json,
    /// SARIF 2.1.0, which code hosts show beside the changed lines.
    Sarif,
    /// JUnit XML, which code hosts show as tests.
    Junit,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let inputs = match arguments.policies.as_slice() {
        [] => vec![Input::read_package(&arguments.package, output)?],
        named => fleet::read(named)?,
    };
    let today = Date::today();
    let mut groups = Vec::new();
    for (rules, inputs) in groups_of(&arguments.rules, inputs)? {
        let policies: Vec<_> = inputs
            .iter()
            .map(|input| CheckedPolicy { name: &input.name, manifest: &input.manifest })
            .collect();
        let checked = check(&rules, &policies, today).map_err(|error| failure(&error))?;
        groups.push(Group { rules, inputs, checked });
    }
    let report = Report::new(&groups);
    output.write(&match arguments.format {
        Format::Text => report.text(),
        Format::Markdown => report.markdown(),
        Format::Json => report.json(),
        Format::Sarif => report.sarif(),
        Format::Junit => junit::render(&groups),
    });
    let holds = groups.iter().all(|group| group.checked.holds());
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The policies, by the rules that they are checked by.
fn groups_of(named: &[PathBuf], inputs: Vec<Input>) -> Result<Vec<(Rules, Vec<Input>)>, Failure> {
    if !named.is_empty() {
        return Ok(vec![(read(named)?, inputs)]);
    }
    let mut of_file: BTreeMap<PathBuf, Vec<Input>> = BTreeMap::new();
    let mut without = Vec::new();
    for input in inputs {
        let file = input.folder.join("policy.rules");
        match file.is_file() {
            true => of_file.entry(file).or_default().push(input),
            false => without.push(
                Failure::new(format!(
                    "there is no policy.rules beside the policy of `{}`",
                    input.name
                ))
                .help("write one, or name rules with `--rules`"),
            ),
        }
    }
    if let Some(failure) = Failure::combine(without) {
        return Err(failure);
    }
    of_file.into_iter().map(|(file, inputs)| Ok((read(&[from_here(&file)])?, inputs))).collect()
}

/// A path as a person would write it: from the current folder, if it is below it.
fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok().and_then(|here| here.canonicalize().ok());
    let below = here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    below.unwrap_or_else(|| path.to_owned())
}

fn read(files: &[PathBuf]) -> Result<Rules, Failure> {
    Rules::read(files).map_err(|RulesError { place, message, help, .. }| {
        Failure::new(format!("{place}: {message}")).help(help)
    })
}

fn failure(error: &CheckError) -> Failure {
    match error {
        CheckError::Mismatch { .. } => Failure::internal(error.to_string())
            .help("this is a bug of `cargo policy check`, not a result: please report it"),
        CheckError::Policy { .. } => {
            Failure::new(error.to_string()).help("write the manifest again with `cargo test`")
        }
        _ => Failure::new(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_contradicts_itself_has_an_exit_code_of_its_own() {
        let (rule, route) = ("never.a".to_owned(), "GET /".to_owned());
        let failure = failure(&CheckError::Mismatch { rule, route });
        assert_eq!(failure.exit_code, 3);
        assert!(failure.message.contains("at `GET /`"), "{}", failure.message);
    }
}
