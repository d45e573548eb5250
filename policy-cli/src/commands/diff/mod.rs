//! `cargo policy diff`: which requests two policies decide differently.

mod causes;
mod fleet;
mod json;
mod markdown;
mod sarif;
mod text;
pub(super) mod witness;

use std::{collections::BTreeSet, path::Path, process::ExitCode};

use clap::{Args, ValueEnum};
use policy_manifest::{
    Change, FacetSource,
    diff::{Axis, Diff, DiffError, DiffFinding, PathMethods, diff},
    engine::EngineError,
};

use self::{causes::is_of_objects, fleet::ComparedFleets};
use crate::{
    failure::Failure, fleet::Fleets, input::Input, output::Output, package::PackageArguments,
};

/// Compare two policies by the requests that they allow.
///
/// Without arguments, the lock file of the last commit is compared with the policy as it is now. Each
/// finding says who gains or loses access and where, with a request as an example, which both policies
/// were asked about. Changes by which no request gains or loses are listed below them.
///
/// The version of the JSON form is 1; docs/schema/diff-1.json describes it. SARIF names the lines that
/// decided if a test run wrote them, and else those of policy.lock.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy diff                                    the last commit and now
  cargo policy diff origin/main                        a branch and now
  cargo policy diff v1.4 v1.5 --format markdown        two releases, for a pull request
  cargo policy diff old.json new.json --format json
  cargo policy diff origin/main --no-new-access        fails only if somebody gains access
  cargo policy diff origin/main --no-new-access --accepted
                                                       fails only if nobody has signed for it
  cargo policy diff origin/main --format sarif > policy.sarif

  cargo policy diff released/services services         two versions of many services

OLD and NEW are each a file, `-`, a git revision (its policy.lock), or REVISION:PATH; or both are folders,
in which the lock files at the same place are compared.

Exit codes: 0 nothing differs, 1 something differs, 2 wrong use or unreadable input, 3 an error of the
comparison itself. With --no-new-access, 0 also if clients lose access, and if what protects nothing
changes; 1 if somebody gains access, or a protection or a limit is gone or weaker.")]
pub(crate) struct Arguments {
    /// The old policy [default: HEAD].
    #[arg(value_name = "OLD", default_value = "HEAD", hide_default_value = true)]
    old: String,
    /// The new policy [default: the policy of the package, from its last test run or its policy.lock].
    #[arg(value_name = "NEW")]
    new: Option<String>,
    /// The format of the result.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// In text and Markdown, show at most this many causes and other changes, the worst first, and count
    /// the rest.
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    max: usize,
    /// Fail only if somebody gains access, or a protection or a limit is gone or weaker.
    #[arg(long)]
    no_new_access: bool,
    /// With `--no-new-access`: let through what a line in `accepted` of the new lock file accepts, for
    /// the policy that the route has now.
    #[arg(long, requires = "no_new_access")]
    accepted: bool,
    #[command(flatten)]
    package: PackageArguments,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
    Markdown,
    Sarif,
}

/// Two policies and what differs.
struct Compared {
    old: Input,
    new: Input,
    diff: Diff,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    if arguments.old == "-" && arguments.new.as_deref() == Some("-") {
        return Err(Failure::new("standard input cannot be both policies")
            .help("name a file or a revision for one of them"));
    }
    let is_refused = match &arguments.new {
        Some(new) if [&arguments.old, new].iter().all(|named| Path::new(named).is_dir()) => {
            run_on_fleets(arguments, Fleets::read(&arguments.old, new)?, output)?
        }
        _ => run_on_one(arguments, output)?,
    };
    if arguments.no_new_access && !arguments.accepted && is_refused {
        output.note("`--no-new-access`: somebody gains access, or a protection is gone or weaker");
    }
    Ok(if is_refused { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Writes what differs between two policies, and tells whether that fails.
fn run_on_one(arguments: &Arguments, output: &mut Output) -> Result<bool, Failure> {
    let old = Input::read_named(&arguments.old, &arguments.package)?;
    let new = match &arguments.new {
        Some(named) => Input::read_named(named, &arguments.package)?,
        None => Input::read_package(&arguments.package, output)?,
    };
    let diff = diff(&old.manifest, &new.manifest).map_err(|error| failure(&error))?;
    let compared = Compared { old, new, diff };
    output.write(&match arguments.format {
        Format::Text => text::render(&compared, arguments.max),
        Format::Json => json::render(&compared),
        Format::Markdown => markdown::render(&compared, arguments.max),
        Format::Sarif => sarif::render(&compared),
    });
    match (arguments.no_new_access, arguments.accepted) {
        (false, _) => Ok(!compared.diff.is_empty()),
        (true, false) => Ok(compared.opens()),
        (true, true) => compared.check_acceptances(output).map(|is_accepted| !is_accepted),
    }
}

/// The same for two versions of a fleet.
fn run_on_fleets(
    arguments: &Arguments,
    fleets: Fleets,
    output: &mut Output,
) -> Result<bool, Failure> {
    let compared = ComparedFleets::new(fleets)?;
    output.write(&match arguments.format {
        Format::Text => compared.text(arguments.max),
        Format::Json => compared.json(),
        Format::Markdown => compared.markdown(arguments.max),
        Format::Sarif => compared.sarif(),
    });
    match (arguments.no_new_access, arguments.accepted) {
        (false, _) => Ok(!compared.is_empty()),
        (true, false) => Ok(compared.opens()),
        (true, true) => compared.check_acceptances(output).map(|are_accepted| !are_accepted),
    }
}

fn failure(error: &DiffError) -> Failure {
    match error {
        DiffError::Crossings { .. } => Failure::new(error.to_string())
            .help("begin paths with segments of their own, and not with parameters"),
        DiffError::Mismatch { .. } => Failure::internal(error.to_string())
            .help("this is a bug of `cargo policy diff`, not a result: please report it"),
        _ => Failure::new(error.to_string()).help("write the manifest again with `cargo test`"),
    }
}

impl Compared {
    fn findings_on(&self, axis: Axis) -> impl Iterator<Item = &DiffFinding> {
        self.diff.findings.iter().filter(move |finding| finding.axis == axis)
    }

    /// Whether any caller gains access, or a protection is gone or weaker.
    fn opens(&self) -> bool {
        self.findings_on(Axis::Widened).next().is_some()
            || self.diff.changes.iter().any(|change| change.direction.opens())
    }

    /// The changes that a lock file has to accept, and the places that gain access without a
    /// change.
    fn to_accept(&self) -> (Vec<Change>, Vec<String>) {
        let opens = |change: &&Change| change.direction.opens();
        let Diff { findings, changes, .. } = &self.diff;
        let of_findings = findings.iter().flat_map(|finding| &finding.changes);
        let mut to_accept: Vec<_> = of_findings.chain(changes).filter(opens).cloned().collect();
        let mut places = Vec::new();
        for finding in self.findings_on(Axis::Widened) {
            match finding.changes.as_slice() {
                [] => places.extend(finding.places.iter().map(PathMethods::words)),
                changes if changes.iter().any(|change| opens(&change)) => (),
                changes => to_accept.extend_from_slice(changes),
            }
        }
        (to_accept, places)
    }

    /// Whether the lock file of the new policy accepts everything that opens, and nothing else.
    fn check_acceptances(self, output: &Output) -> Result<bool, Failure> {
        let (to_accept, places) = self.to_accept();
        let signed = self.new.signed?;
        let unreadable = |error: EngineError| Failure::new(error.to_string());
        let unaccepted = signed.unaccepted(&to_accept).map_err(unreadable)?;
        let lines: BTreeSet<_> = unaccepted.iter().map(|(_, line)| line.to_string()).collect();
        let stale = signed.stale().map_err(unreadable)?;
        if !lines.is_empty() {
            let lines: Vec<_> = lines.into_iter().collect();
            output.note(&format!(
                "`--accepted`: the lock file does not accept what opens: {}",
                lines.join(", ")
            ));
        }
        for line in &stale {
            output.note(&format!(
                "`--accepted`: this line accepts another policy than the route has: {line}"
            ));
        }
        for place in &places {
            output.note(&format!("`--accepted`: no line can accept what {place} gains"));
        }
        Ok(unaccepted.is_empty() && stale.is_empty() && places.is_empty())
    }

    /// Where a change of the new policy is written.
    fn source(&self, change: &Change) -> Option<&FacetSource> {
        let sources = self.new.sources.as_ref()?;
        let methods = change.methods.iter().map(String::as_str);
        methods.chain(["*"]).find_map(|method| sources.get(method, &change.path, change.facet))
    }

    /// The number of findings and changes in words.
    fn summary(&self) -> Vec<String> {
        let count = |number: usize, one: &str, many: &str| match number {
            0 => None,
            1 => Some(format!("1 {one}")),
            number => Some(format!("{number} {many}")),
        };
        let (widened, narrowed) =
            (self.findings_on(Axis::Widened).count(), self.findings_on(Axis::Narrowed).count());
        let worst = self.findings_on(Axis::Widened).map(|finding| finding.severity).max();
        let worst = worst.map(|worst| format!(" (worst: {worst})")).unwrap_or_default();
        let widened = count(widened, "finding widens access", "findings widen access");
        let narrowed = count(narrowed, "finding breaks clients", "findings break clients");
        let (objects, others): (Vec<_>, Vec<_>) =
            self.diff.changes.iter().partition(|change| is_of_objects(change));
        let objects =
            count(objects.len(), "change of rights on objects", "changes of rights on objects");
        let changes = count(others.len(), "other change", "other changes");
        let words: Vec<_> = [widened.map(|words| words + &worst), narrowed, objects, changes]
            .into_iter()
            .flatten()
            .collect();
        if words.is_empty() { vec!["nothing differs".to_owned()] } else { words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_that_contradicts_itself_has_an_exit_code_of_its_own() {
        let (place, words) = ("GET /".to_owned(), "it is decided differently".to_owned());
        let failure = failure(&DiffError::Mismatch { place, words });
        assert_eq!(failure.exit_code, 3);
        assert!(failure.message.contains("at GET /"), "{}", failure.message);
    }
}
