//! Sets up and runs the tests, the checks and the long runs of the project: `cargo xtask test`,
//! `cargo xtask check`, `cargo xtask long NAME`. Uses the standard library alone, so that it builds in a second.
#![expect(clippy::print_stdout, reason = "a command-line tool speaks on standard output")]

mod command;
mod compile_time;
mod docs;
mod failure;
mod faults;
mod folders;
mod long;
mod project;
mod setup;
mod steps;
mod test;
mod totals;

use std::{env, process::ExitCode};

use failure::{Failure, Outcome};

const USAGE: &str = "\
cargo xtask test                  sets up, and runs all tests
cargo xtask check                 format, lints, documentation and a short selection of seeded faults
cargo xtask docs                  the guide and the documentation of the API, below target/guide
cargo xtask long list             the runs that take longer, one line each
cargo xtask long NAME [ARGUMENT]  one of them";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => test::run(),
        ["check"] => test::check(),
        ["docs"] => docs::run(),
        // Called by mdBook, as book.toml says.
        ["guide-chapters", rest @ ..] => docs::chapters(rest),
        ["long", name, rest @ ..] => long::run(name, rest),
        ["help" | "--help" | "-h"] => help(),
        [] => Err(Failure::new(format!("name a command\n\n{USAGE}"))),
        _ => Err(Failure::new(format!("unknown command `{}`\n\n{USAGE}", words.join(" ")))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::FAILURE
        }
    }
}

fn help() -> Outcome {
    println!("{USAGE}");
    Ok(())
}
