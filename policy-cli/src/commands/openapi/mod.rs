//! `cargo policy openapi`: the operations of an OpenAPI document, and what a change of it means to clients.

mod compare;
mod document;
mod report;
mod table;

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};

use self::{
    compare::{Change, Impact, compare},
    document::Document,
};
use crate::{
    failure::Failure,
    input::{NamedText, OPENAPI},
    output::Output,
    package::PackageArguments,
};

/// Show the operations of an OpenAPI document, and compare two for what breaks clients.
///
/// Without arguments: a table of the operations in openapi.json of the package. With `--check`, that file
/// is compared with the one of a git revision.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  cargo policy openapi                                 the operations, and who may call them
  cargo policy openapi --check                         fails if clients of the last commit break
  cargo policy openapi --check --against v1.4
  cargo policy openapi diff origin/main openapi.json --format markdown

Exit codes: 0 fine, 1 with --check if a client breaks, 2 wrong use or unreadable input."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Subcommands>,
    /// Read this document instead of the package's openapi.json: a file, `-` for standard input, a git
    /// revision, or REVISION:PATH.
    #[arg(long, value_name = "INPUT", help_heading = "Package")]
    from: Option<String>,
    /// Compare the document with an older one, and fail if a client breaks.
    #[arg(long)]
    check: bool,
    /// The older document, named as for `--from`.
    #[arg(long, value_name = "INPUT", default_value = "HEAD", requires = "check")]
    against: String,
    #[command(flatten)]
    common: CommonArguments,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    Diff(DiffArguments),
}

/// Compare two documents: what breaks clients, what is added, what only reads differently.
///
/// What a request may have has to be accepted still, and what a response may have has to be known before:
/// a narrower type breaks one, a wider type the other. What cannot be decided counts as a break. Callbacks,
/// links and webhooks are not compared. The version of the JSON form is 1; docs/schema/openapi-diff-1.json
/// describes it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy openapi diff old.json new.json
  cargo policy openapi diff v1.4 v1.5 --check
  cargo policy openapi diff origin/main openapi.json --format json

OLD and NEW are each a file, `-`, a git revision (its openapi.json), or REVISION:PATH.

Exit codes: 0 compared, 1 with --check if a client breaks, 2 wrong use or unreadable input.")]
struct DiffArguments {
    /// The old document.
    #[arg(value_name = "OLD")]
    old: String,
    /// The new document.
    #[arg(value_name = "NEW")]
    new: String,
    /// Fail if a client breaks.
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    common: CommonArguments,
}

#[derive(Debug, Args)]
struct CommonArguments {
    /// The format of the result.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    #[command(flatten)]
    package: PackageArguments,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Text,
    Json,
    Markdown,
}

/// Two documents by their names, and what differs.
struct Compared {
    old: String,
    new: String,
    changes: Vec<Change>,
}

impl Compared {
    fn changes_with(&self, impact: Impact) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |change| change.impact == impact)
    }

    /// The number of changes in words.
    fn summary(&self) -> String {
        let count = |impact, one, many| match self.changes_with(impact).count() {
            0 => None,
            1 => Some(format!("1 change {one}")),
            number => Some(format!("{number} changes {many}")),
        };
        let parts = [
            count(Impact::Breaks, "breaks clients", "break clients"),
            count(Impact::Adds, "adds", "add"),
            count(Impact::Words, "of words", "of words"),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "nothing differs".to_owned() } else { parts.join(", ") }
    }
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<ExitCode, Failure> {
    let CommonArguments { format, package } = &arguments.common;
    if let Some(Subcommands::Diff(arguments)) = &arguments.command {
        let DiffArguments { old, new, check, common } = arguments;
        if old == "-" && new == "-" {
            return Err(Failure::new("standard input cannot be both documents")
                .help("name a file or a revision for one of them"));
        }
        let old = OPENAPI.read_named(old, &common.package)?;
        let new = OPENAPI.read_named(new, &common.package)?;
        return run_diff(&old, &new, *check, common.format, output);
    }
    let named = match &arguments.from {
        Some(named) => OPENAPI.read_named(named, package)?,
        None => OPENAPI.read_package(package)?,
    };
    if arguments.check {
        let old = OPENAPI.read_named(&arguments.against, package)?;
        return run_diff(&old, &named, true, *format, output);
    }
    let document = Document::parse(&named.text, &named.name)?;
    output.write(&table::render(&document, &named.name, *format));
    Ok(ExitCode::SUCCESS)
}

fn run_diff(
    old: &NamedText,
    new: &NamedText,
    is_checked: bool,
    format: Format,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let of = |named: &NamedText| Document::parse(&named.text, &named.name);
    let changes = compare(&of(old)?, &of(new)?);
    let compared = Compared { old: old.name.clone(), new: new.name.clone(), changes };
    output.write(&report::render(&compared, format));
    let breaks = compared.changes_with(Impact::Breaks).next().is_some();
    Ok(if is_checked && breaks { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
