//! `cargo policy`: shows what the routes of a Policy app require and allow, and explains decisions and
//! codes.
//!
//! It reads manifests, which tests of the app write, and never builds the app.
//!
//! It is a library so that its tests can reach its parsers. Only the binary is meant for use.

mod cli;
mod commands;
mod escape;
mod failure;
mod fleet;
mod input;
mod markdown;
mod output;
mod package;
mod route_lines;
mod sarif;
mod shell;
mod shown;

use std::{collections::BTreeMap, env, ffi::OsString, process::ExitCode};

use clap::Parser as _;

use crate::{cli::Cli, output::Output};

/// Runs the command that the arguments of the process state.
pub fn main() -> ExitCode {
    let cli = Cli::parse_from(arguments(env::args_os()));
    let mut output = Output::new(cli.color);
    match cli.command.run(&mut output).and_then(|code| output.finish().map(|()| code)) {
        Ok(code) => code,
        Err(failure) => {
            output.fail(&failure);
            ExitCode::from(failure.exit_code)
        }
    }
}

/// The names and contents of the files that `cargo policy code --pages` writes, for the tests of
/// the guide.
#[doc(hidden)]
pub fn code_pages() -> BTreeMap<String, String> {
    commands::code::pages()
}

/// The answer of the playground to a question, both as JSON, for tests.
///
/// # Errors
///
/// The text is no question.
#[cfg(feature = "play")]
#[doc(hidden)]
pub fn played(question: &str) -> Result<String, serde_json::Error> {
    commands::play::played(question)
}

/// The parsers of pasted input, for fuzzing.
#[doc(hidden)]
pub mod fuzzed {
    pub use crate::commands::explain::ParsedRequest;
    use crate::{
        commands::explain::{curl, har},
        failure::Failure,
    };

    /// Reads a curl line.
    ///
    /// # Errors
    ///
    /// The message.
    pub fn curl(line: &str) -> Result<ParsedRequest, String> {
        curl::parse(line).map_err(message)
    }

    /// Reads an entry of a HAR file, counted from 1.
    ///
    /// # Errors
    ///
    /// The message.
    pub fn har(text: &str, number: usize) -> Result<ParsedRequest, String> {
        har::parse(text, number).map_err(message)
    }

    fn message(Failure { message, .. }: Failure) -> String {
        message
    }
}

/// The arguments without the name of the subcommand, which cargo repeats as the first one.
fn arguments(all: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<_> = all.collect();
    if arguments.get(1).is_some_and(|first| first == "policy") {
        arguments.remove(1);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_repeats_the_name_of_the_subcommand_and_a_shell_does_not() {
        let of = |text: &str| arguments(text.split(' ').map(OsString::from));
        assert_eq!(of("cargo-policy policy show"), of("cargo-policy show"));
        assert_eq!(of("cargo-policy show policy"), ["cargo-policy", "show", "policy"]);
    }
}
