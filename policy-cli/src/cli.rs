//! The command line.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand, builder::styling};

#[cfg(feature = "audit")]
use crate::commands::audit;
#[cfg(feature = "play")]
use crate::commands::play;
use crate::{
    commands::{check, code, completions, diff, explain, lint, man, new, openapi, show, validate},
    failure::Failure,
    output::{Color, Output},
};

const STYLES: styling::Styles = styling::Styles::styled()
    .header(styling::Style::new().bold())
    .usage(styling::Style::new().bold())
    .literal(styling::AnsiColor::Cyan.on_default());

/// Show what the routes of a Policy app require and allow.
///
/// The commands read the policy of an app as data, and never build the app: `policy.lock` beside its
/// Cargo.toml, or the manifest that its last test run wrote below `target/policy`.
#[derive(Debug, Parser)]
#[command(
    name = "cargo-policy",
    bin_name = "cargo policy",
    version,
    styles = STYLES,
    max_term_width = 100,
    after_help = "\
Exit codes: 0 fine, 1 findings, 2 wrong use or unreadable input, 3 an error of the command."
)]
pub(crate) struct Cli {
    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Show(show::Arguments),
    Explain(explain::Arguments),
    Lint(lint::Arguments),
    Check(check::Arguments),
    Diff(diff::Arguments),
    #[command(name = "openapi")]
    OpenApi(openapi::Arguments),
    #[cfg(feature = "audit")]
    Audit(audit::Arguments),
    #[cfg(feature = "play")]
    Play(play::Arguments),
    Validate(validate::Arguments),
    Code(code::Arguments),
    New(new::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

impl Command {
    /// Runs the command. Its exit code is 0, or 1 if it found something to correct.
    pub(crate) fn run(&self, output: &mut Output) -> Result<ExitCode, Failure> {
        match self {
            Self::Show(arguments) => show::run(arguments, output),
            Self::Explain(arguments) => explain::run(arguments, output),
            Self::Lint(arguments) => lint::run(arguments, output),
            Self::Check(arguments) => check::run(arguments, output),
            Self::Diff(arguments) => diff::run(arguments, output),
            Self::OpenApi(arguments) => openapi::run(arguments, output),
            #[cfg(feature = "audit")]
            Self::Audit(arguments) => audit::run(arguments, output),
            #[cfg(feature = "play")]
            Self::Play(arguments) => play::run(arguments, output),
            Self::Validate(arguments) => validate::run(arguments, output),
            Self::Code(arguments) => code::run(arguments, output),
            Self::New(arguments) => new::run(arguments, output),
            Self::Completions(arguments) => completions::run(arguments, Cli::command(), output),
            Self::Man(arguments) => man::run(arguments, Cli::command(), output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    /// The words of each `cargo policy` in a text, without comments, redirections and pipes.
    fn lines_of(text: &str) -> impl Iterator<Item = Vec<&str>> {
        text.lines().filter_map(|line| {
            let line = line.split(['#', '>', '|']).next()?;
            // In recipe.sh, the functions `report` and `gate` run it.
            let starts = ["cargo policy ", "cargo-policy policy ", "report ", "gate "];
            let arguments = starts.iter().find_map(|start| line.trim().strip_prefix(start))?;
            let words = arguments.split_whitespace().map(|word| word.trim_matches('"'));
            Some([&["cargo policy"], &*words.collect::<Vec<_>>()].concat())
        })
    }

    #[test]
    fn the_commands_of_the_recipes_for_ci_are_commands() {
        let mut seen = 0;
        for file in ["README.md", "recipe.sh", "action.yml", "github.yml", "gitlab.yml"] {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/ci/").to_owned() + file;
            let text = std::fs::read_to_string(&file).unwrap();
            for line in lines_of(&text).filter(|line| line.get(1) != Some(&"$@")) {
                let parsed = Cli::try_parse_from(&line);
                assert!(parsed.is_ok(), "{file}: {line:?}: {}", parsed.unwrap_err());
                seen += 1;
            }
        }
        assert_eq!(seen, 21);
    }
}
