//! Well-formed data that does not match the expected type.

use std::{error::Error, fmt};

use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

use crate::base::escape::printable;
use crate::base::problem::{Invalid, escaped};

/// An error in well-formed data, and its location.
///
/// Its texts may quote the data; they are cut to a maximum length and contain no control
/// characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    path: String,
    pointer: String,
    reason: String,
}

impl Mismatch {
    /// The location in the data, such as `items[0].price`; empty for the whole.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The location as a JSON pointer (RFC 6901), such as `/items/0/price`.
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// The error at this location.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// A field whose value is wrong.
    pub(super) fn at(name: &str, reason: &str) -> Self {
        Self { path: name.to_owned(), pointer: format!("/{name}"), reason: reason.to_owned() }
    }

    /// Deserializes the data a second time, with tracking of the location. The first time it is not
    /// tracked, since most data is valid and tracking costs more than deserializing.
    pub(super) fn locate<'de, T, D>(deserializer: D, error: &impl fmt::Display) -> Self
    where
        T: DeserializeOwned,
        D: serde::Deserializer<'de>,
    {
        let (path, pointer) = match serde_path_to_error::deserialize::<D, T>(deserializer) {
            Err(located) if located.path().iter().len() > 0 => {
                (located.path().to_string(), pointer(located.path()))
            }
            _ => (String::new(), String::new()),
        };
        Self {
            path: printable(&path),
            pointer: printable(&pointer),
            reason: printable(&error.to_string()),
        }
    }

    /// This error as a validation error.
    pub(super) fn fault(&self) -> Invalid {
        Invalid::new().fault(self.pointer.clone(), self.reason.clone())
    }
}

fn pointer(path: &Path) -> String {
    let known = path.iter().map_while(|segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } | Segment::Enum { variant: key } => Some(escaped(key)),
        Segment::Unknown => None,
    });
    known.fold(String::new(), |pointer, step| pointer + "/" + &step)
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, reason, .. } = self;
        if path.is_empty() { f.write_str(reason) } else { write!(f, "`{path}`: {reason}") }
    }
}

impl Error for Mismatch {}
