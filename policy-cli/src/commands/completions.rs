//! `cargo policy completions`: completions for a shell.

use std::process::ExitCode;

use clap::{Args, Command};

use crate::{failure::Failure, output::Output};

/// Print the completions for a shell.
///
/// They complete the arguments of `cargo-policy`, the program behind `cargo policy`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy completions bash > ~/.local/share/bash-completion/completions/cargo-policy
  cargo policy completions fish > ~/.config/fish/completions/cargo-policy.fish")]
pub(crate) struct Arguments {
    /// The shell.
    shell: clap_complete::Shell,
}

pub(crate) fn run(
    arguments: &Arguments,
    command: Command,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut command = command.bin_name("cargo-policy");
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "cargo-policy", &mut script);
    output.write(&String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}
