//! Why rules cannot be used.

use std::{error::Error, fmt};

use crate::engine::EngineError;

/// Why a file of rules cannot be used, with the line and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RulesError {
    /// The place of the mistake.
    pub place: Place,
    /// What is wrong. Text of the file is in backticks, without control characters.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

/// A line of a file of rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The path of the file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", plain(&self.file), self.line)
    }
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, message, help } = self;
        write!(f, "{place}: {message}: {help}")
    }
}

impl Error for RulesError {}

/// Why policies cannot be checked by rules.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckError {
    /// A manifest is not a policy that the engine accepts.
    Policy {
        /// The name of the policy.
        name: String,
        /// The reason.
        error: EngineError,
    },
    /// The check of these rules and policies would take minutes.
    TooMuch,
    /// An error of this crate: the engine decides a witness differently from the check.
    Mismatch {
        /// The rule.
        rule: String,
        /// The route.
        route: String,
    },
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy { name, error } => {
                let error = plain(&error.to_string());
                write!(f, "the policy `{}` breaks a rule: {error}", plain(name))
            }
            Self::TooMuch => write!(
                f,
                "these rules and routes would take minutes: check fewer policies at once, or write \
                 fewer rules with more routes each"
            ),
            Self::Mismatch { rule, route } => write!(
                f,
                "the check contradicts itself at `{}`, by the rule `{rule}`",
                plain(route)
            ),
        }
    }
}

impl Error for CheckError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Policy { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// Text of a file for a message: control characters are escaped, and a long text is cut.
pub(super) fn plain(text: &str) -> String {
    const MOST: usize = 200;
    let mut plain = String::new();
    for character in text.chars().take(MOST) {
        match character {
            '\'' | '"' | '\\' => plain.push(character),
            _ => plain.extend(character.escape_debug()),
        }
    }
    if text.chars().nth(MOST).is_some() {
        plain.push_str("..");
    }
    plain
}
