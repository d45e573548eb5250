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
            let commands: Vec<_> = all.get_subcommands().cloned().collect();
            for command in commands.into_iter().chain([all]) {
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

fn page(command: Command) -> Result<String, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Failure::new(format!("the manual cannot be written: {error}")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
