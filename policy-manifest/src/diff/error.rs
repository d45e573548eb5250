//! Why two apps cannot be compared.

use std::{error::Error, fmt};

use crate::engine::EngineError;

/// Why two apps cannot be compared.
#[derive(Debug)]
#[non_exhaustive]
pub enum DiffError {
    /// The old manifest is not a policy that the engine accepts.
    Old(EngineError),
    /// The new manifest is not a policy that the engine accepts.
    New(EngineError),
    /// More than this many pairs of paths match the same requests.
    Crossings {
        /// The most pairs that are compared.
        most: usize,
    },
    /// An error of this crate: the decision of the engines about a witness contradicts the finding.
    Mismatch {
        /// The place of the finding.
        place: String,
        /// The statement of the finding, and the decision of the engines.
        words: String,
    },
}

impl fmt::Display for DiffError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Old(error) => write!(f, "the old manifest breaks a rule: {error}"),
            Self::New(error) => write!(f, "the new manifest breaks a rule: {error}"),
            Self::Crossings { most } => write!(
                f,
                "more than {most} pairs of old and new paths match the same requests, such as \
                 `/{{a}}/x` and `/y/{{b}}`"
            ),
            Self::Mismatch { place, words } => {
                write!(f, "the comparison contradicts itself at {place}: {words}")
            }
        }
    }
}

impl Error for DiffError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Old(error) | Self::New(error) => Some(error),
            Self::Crossings { .. } | Self::Mismatch { .. } => None,
        }
    }
}
