//! Data that is well-formed and no value of the type that it is read into.

use std::{error::Error, fmt};

use serde::de::DeserializeOwned;

use super::printable::printable;

/// What is wrong with well-formed data, and where.
///
/// Its words may quote the data; they are cut to a length and have no control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    path: String,
    reason: String,
}

impl Mismatch {
    /// Where in the data, such as `items[0].price`; empty for the whole of it.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong there.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Reads the data once more, to learn where it goes wrong. The first time it was read
    /// without: most data is right, and keeping track of the place costs more than reading.
    pub(super) fn locate<'de, T, D>(deserializer: D, error: &impl fmt::Display) -> Self
    where
        T: DeserializeOwned,
        D: serde::Deserializer<'de>,
    {
        let path = match serde_path_to_error::deserialize::<D, T>(deserializer) {
            Err(located) if located.path().iter().len() > 0 => located.path().to_string(),
            _ => String::new(),
        };
        Self { path: printable(&path), reason: printable(&error.to_string()) }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, reason } = self;
        if path.is_empty() { f.write_str(reason) } else { write!(f, "`{path}`: {reason}") }
    }
}

impl Error for Mismatch {}
