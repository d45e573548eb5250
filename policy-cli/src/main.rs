//! The binary of `cargo policy`.

use std::process::ExitCode;

fn main() -> ExitCode {
    policy_cli::main()
}
