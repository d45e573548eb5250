//! Why a command cannot do its work.

/// Why a command cannot do its work, and what to do about it: it was used wrongly, or its input
/// cannot be read.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Lower case, no full stop, the user's text in backticks.
    pub(crate) message: String,
    /// The fix.
    pub(crate) help: Option<String>,
}

impl Failure {
    /// The exit code of a command that fails.
    pub(crate) const EXIT_CODE: u8 = 2;

    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }

    #[must_use]
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}
