//! Why an app does not start.

use std::{fmt, io};

use policy_core::{Rule, cors::PolicyError};

/// Why an app does not start, or stopped.
///
/// Its `Debug` form is its `Display` form, so that `fn main() -> Result<(), Error>` prints what a
/// person needs.
#[non_exhaustive]
pub enum Error {
    /// The app has these problems.
    Start(Vec<StartProblem>),
    /// An address cannot be listened on.
    Listen {
        /// The address as it was given.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// Something else of the operating system failed.
    Io(io::Error),
}

/// One problem of an app.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartProblem {
    /// A CORS policy or a run-time list of origins breaks a rule.
    Policy(PolicyError),
    /// A path, a method or an own origin breaks a rule.
    Rule {
        /// The handler, or the part of the app.
        place: String,
        /// The rule.
        rule: Rule,
        /// What breaks it.
        value: String,
    },
    /// A source of settings cannot be read.
    Source {
        /// The file or the environment variable.
        source: String,
        /// Why.
        reason: String,
    },
    /// The app listens where everybody can reach it, and says nowhere who it is.
    NotLoopback {
        /// The address.
        address: String,
    },
}

impl StartProblem {
    /// The stable code of the problem.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Policy(error) => error.rule().code(),
            Self::Rule { rule, .. } => rule.code(),
            Self::Source { .. } => "app.source-unreadable",
            Self::NotLoopback { .. } => "app.public-origin-missing",
        }
    }
}

impl fmt::Display for StartProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code();
        match self {
            Self::Policy(error) => error.fmt(f),
            Self::Rule { place, rule, value } => {
                let value = value.escape_debug();
                write!(
                    f,
                    "{place}: `{value}`: {} ({code})\n  help: {}",
                    rule.message(),
                    rule.help()
                )
            }
            Self::Source { source, reason } => write!(
                f,
                "`{source}` cannot be read: {reason} ({code})\n  help: an app starts only with all of its settings"
            ),
            Self::NotLoopback { address } => write!(
                f,
                "`{address}` can be reached from other machines, and the app has no public origin ({code})\n  \
                 help: say who the app is with `App::public_origin(\"https://..\")`, or listen on 127.0.0.1 while developing"
            ),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(problems) => {
                let plural = if problems.len() == 1 { "problem" } else { "problems" };
                write!(f, "the app does not start: {} {plural}", problems.len())?;
                problems.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
            }
            Self::Listen { address, source } => {
                write!(f, "cannot listen on `{}`: {source}", address.escape_debug())
            }
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start(_) => None,
            Self::Listen { source, .. } | Self::Io(source) => Some(source),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
