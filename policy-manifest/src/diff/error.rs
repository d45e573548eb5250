//! Why two apps cannot be compared.

use std::{error::Error, fmt};

use crate::engine::EngineError;

/// Why two apps cannot be compared.
#[derive(Debug)]
#[non_exhaustive]
pub enum DiffError {
    /// The old one is no policy that the engine accepts.
    Old(EngineError),
    /// The new one is no policy that the engine accepts.
    New(EngineError),
    /// An error of this crate: the engines do not decide about a witness as the finding says.
    Mismatch {
        /// Where.
        place: String,
        /// What the finding says, and what the engines do.
        words: String,
    },
}

impl fmt::Display for DiffError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Old(error) => write!(f, "the old manifest breaks a rule: {error}"),
            Self::New(error) => write!(f, "the new manifest breaks a rule: {error}"),
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
            Self::Mismatch { .. } => None,
        }
    }
}
