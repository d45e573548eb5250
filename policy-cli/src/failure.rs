//! Why a command cannot do its work.

use policy_manifest::engine::EngineError;

use crate::shown;

/// A command lists this many failures, and counts the rest.
const SHOWN_FAILURES: usize = 20;
/// A command shows at most this many kinds of help.
const SHOWN_HELPS: usize = 4;

/// Why a command cannot do its work, and what to do about it: it was used wrongly, or its input
/// cannot be read.
#[derive(Clone, Debug)]
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

    /// Combines several failures into one, with the first of them in full.
    pub(crate) fn combine(failures: Vec<Self>) -> Option<Self> {
        let count = failures.len();
        if count <= 1 {
            return failures.into_iter().next();
        }
        let mut helps: Vec<_> =
            failures.iter().filter_map(|failure| failure.help.clone()).collect();
        helps.sort();
        helps.dedup();
        helps.truncate(SHOWN_HELPS);
        let exit_code = failures.iter().map(|failure| failure.exit_code).max().unwrap_or(2);
        let messages = failures.into_iter().take(SHOWN_FAILURES).map(|failure| failure.message);
        let lines = [format!("{count} inputs cannot be used")].into_iter().chain(messages);
        let lines = lines.chain(shown::more(count, SHOWN_FAILURES));
        let message = lines.collect::<Vec<_>>().join("\n");
        let help = (!helps.is_empty()).then(|| helps.join("\n"));
        Some(Self { message, help, exit_code })
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

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::new(format!("the manifest breaks a rule: {error}"))
            .help("write it again with `cargo test`")
    }
}
