//! Why a run ends early.

use std::{fmt, io, path::Path};

pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// A message for the terminal.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A failure that was already printed.
    pub(crate) fn already_printed() -> Self {
        Self(String::new())
    }

    /// Prints it, unless it was already printed.
    pub(crate) fn print(&self) {
        if !self.0.is_empty() {
            eprintln!("\nxtask: {self}");
        }
    }

    /// For `map_err`: what was tried with a file or folder, and the error.
    pub(crate) fn with_path<'a>(what: &'a str, path: &'a Path) -> impl Fn(io::Error) -> Self + 'a {
        move |error| Self(format!("cannot {what} {}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
