//! `cargo policy man`: the manual.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::{Args, Command};

use crate::{failure::Failure, output::Output};

/// Print the manual page, or write one for each command.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo policy man | man -l -
  cargo policy man --out ~/.local/share/man/man1")]
pub(crate) struct Arguments {
    /// Write `cargo-policy.1` and a page for each command into this folder, which must exist.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(crate) fn run(
    arguments: &Arguments,
    mut all: Command,
    output: &mut Output,
) -> Result<ExitCode, Failure> {
    all.build();
    match &arguments.out {
        None => output.write(&page(all)?),
        Some(folder) => {
            for command in with_subcommands(all) {
                let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
                let file = folder.join(format!("{name}.1"));
                fs::write(&file, page(command)?).map_err(|error| {
                    Failure::new(format!("`{}` cannot be written: {error}", file.display()))
                        .help("name an existing folder in which you may write")
                })?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A command and all below it. `help` has them a second time.
fn with_subcommands(command: Command) -> Vec<Command> {
    let mut found = Vec::new();
    if command.get_name() != "help" {
        found.extend(command.get_subcommands().cloned().flat_map(with_subcommands));
    }
    found.push(command);
    found
}

fn page(command: Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::new(format!("the manual cannot be written: {error}")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
