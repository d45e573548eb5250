//! Builds the test binaries of the copied tree, and runs them without cargo.

use std::{collections::BTreeMap, path::PathBuf, process::Command, time::Duration};

use serde::Deserialize;

use super::{
    killer::{Killer, Target},
    switched::VARIABLE,
    tree::Tree,
};
use crate::{
    Failure, Outcome,
    command::{Captured, capture},
    project,
    totals::failed_test,
};

/// The time-out of a build; the first one builds all dependencies.
const BUILD_LIMIT: Duration = Duration::from_secs(3600);
/// The time-out of the tests of one fault.
const TEST_LIMIT: Duration = Duration::from_secs(300);

/// Test binaries that are built.
#[derive(Default)]
pub(super) struct Binaries(BTreeMap<Target, Binary>);

struct Binary {
    executable: PathBuf,
    /// The working directory that cargo would use.
    folder: PathBuf,
}

/// Why a build failed.
#[derive(Debug, Default)]
pub(super) struct BuildError {
    /// For each error, the lines that the compiler points at, by file relative to the root of the
    /// tree.
    pub(super) errors: Vec<Vec<(PathBuf, usize)>>,
    /// The compiler's output.
    pub(super) text: String,
}

/// A line of cargo's output with `--message-format json`.
#[derive(Deserialize)]
#[serde(tag = "reason")]
enum Message {
    #[serde(rename = "compiler-artifact")]
    Artifact { manifest_path: PathBuf, target: project::Target, executable: Option<PathBuf> },
    #[serde(rename = "compiler-message")]
    Diagnostic { message: Diagnostic },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    rendered: String,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Span {
    file_name: PathBuf,
    line_start: usize,
    is_primary: bool,
}

impl Binaries {
    /// Builds these binaries, package by package, so that a package has the same features whatever
    /// else is built.
    ///
    /// # Errors
    ///
    /// Cargo cannot be started, or takes too long.
    pub(super) fn build<'a>(
        tree: &Tree,
        targets: impl IntoIterator<Item = &'a Target>,
    ) -> Outcome<Result<Self, BuildError>> {
        let mut packages: BTreeMap<&str, Vec<&Target>> = BTreeMap::new();
        for target in targets {
            packages.entry(&target.package).or_default().push(target);
        }
        let mut binaries = Self::default();
        for (package, targets) in packages {
            if let Err(error) = binaries.add(tree, package, &targets)? {
                return Ok(Err(error));
            }
        }
        Ok(Ok(binaries))
    }

    fn add(
        &mut self,
        tree: &Tree,
        package: &str,
        targets: &[&Target],
    ) -> Outcome<Result<(), BuildError>> {
        let mut arguments = vec!["test", "--no-run", "--all-features", "--message-format", "json"];
        arguments.extend(["-p", package]);
        for target in targets {
            match &target.test {
                Some(test) => arguments.extend(["--test", test]),
                None => arguments.push("--lib"),
            }
        }
        let captured = capture(&mut tree.cargo(&arguments), BUILD_LIMIT, |_| false)?;
        let mut error = BuildError::default();
        for line in captured.output.lines() {
            match serde_json::from_str(line) {
                Ok(Message::Artifact { manifest_path, target, executable }) => {
                    let Some(executable) = executable else { continue };
                    let is_library = target.is_a("lib");
                    let test = target.is_a("test").then_some(target.name);
                    if test.is_some() || is_library {
                        let folder = manifest_path.parent().unwrap_or(&manifest_path).to_owned();
                        let target = Target { package: package.to_owned(), test };
                        self.0.insert(target, Binary { executable, folder });
                    }
                }
                Ok(Message::Diagnostic { message }) => error.add(message),
                Ok(Message::Other) => (),
                Err(_text) => error.text.extend([line, "\n"]),
            }
        }
        Ok(if captured.success == Some(true) { Ok(()) } else { Err(error) })
    }

    /// Runs the tests that must detect a fault, up to the first that does.
    ///
    /// # Errors
    ///
    /// The binary is not built, or cannot be started.
    pub(super) fn run(&self, tree: &Tree, killer: &Killer, fault: &str) -> Outcome<Captured> {
        let missing = || Failure::new(format!("`{}` was not built", killer.target));
        let binary = self.0.get(&killer.target).ok_or_else(missing)?;
        let mut command = Command::new(&binary.executable);
        command.args(&killer.filter);
        if killer.is_ignored {
            command.arg("--ignored");
        }
        tree.prepare(&mut command);
        command.current_dir(&binary.folder).env(VARIABLE, fault);
        capture(&mut command, TEST_LIMIT, |line| failed_test(line).is_some())
    }
}

impl BuildError {
    fn add(&mut self, message: Diagnostic) {
        if message.level == "error" {
            self.text.push_str(&message.rendered);
            // The primary span shows the error, the others its reasons.
            let (primary, others): (Vec<_>, Vec<_>) =
                message.spans.into_iter().partition(|span| span.is_primary);
            let spans = primary.into_iter().chain(others);
            self.errors.push(spans.map(|span| (span.file_name, span.line_start)).collect());
        }
    }
}
