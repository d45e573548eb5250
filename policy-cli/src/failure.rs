//! Why a command cannot do its work.

/// Why a command cannot do its work, and what to do about it: it was used wrongly, or its input
/// cannot be read.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Lower case, no full stop, the user's text in backticks.
    pub(crate) message: String,
    /// The fix.
    pub(crate) help: Option<String>,
    /// The exit code of the command: 2, or 3 for an error of the command itself.
    pub(crate) exit_code: u8,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, exit_code: 2 }
    }

    /// An internal error of this command, not a mistake of its user.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self { exit_code: 3, ..Self::new(message) }
    }

    #[must_use]
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}
