//! What commands write: results on standard output, notes and failures on standard error.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};

use crate::{
    escape::{printable_lines, without_commands},
    failure::Failure,
};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const HELP: Style = AnsiColor::Cyan.on_default().bold();

/// When to use colours.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    Always,
    Never,
}

/// Standard output and standard error.
pub(crate) struct Output {
    text: String,
}

impl Output {
    /// The streams of the process, with colours where they are wanted.
    pub(crate) fn new(color: Color) -> Self {
        let choice = match color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        Self { text: String::new() }
    }

    /// Adds to the result. Text from outside has to be [printable](crate::escape).
    pub(crate) fn write(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Writes the result. A reader that has seen enough, such as `head`, is no failure.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        let mut stream = anstream::stdout().lock();
        let text = without_commands(&self.text);
        let written = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
        self.text.clear();
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::new(format!("standard output cannot be written: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Says something about a result.
    pub(crate) fn note(&self, text: &str) {
        let text = printable_lines(text);
        // There is nowhere else to say it.
        let _ = writeln!(anstream::stderr(), "{BOLD}note{BOLD:#}: {text}");
    }

    /// Says why there is no result.
    pub(crate) fn fail(&self, failure: &Failure) {
        let mut stream = anstream::stderr();
        let _ = writeln!(stream, "{ERROR}error{ERROR:#}: {}", printable_lines(&failure.message));
        if let Some(help) = &failure.help {
            let _ = writeln!(stream, " {HELP}help{HELP:#}: {}", printable_lines(help));
        }
    }
}
