//! Reading a manifest.

use std::{error::Error, fmt};

use serde_json::{Map, Value};

use super::{FORMAT, Manifest};

/// Why a text is no manifest.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// It is no JSON, or has other fields than a manifest.
    Malformed(serde_json::Error),
    /// A newer release wrote it.
    Newer {
        /// The version of its format.
        format: u32,
    },
    /// A route refers to security headers that are not there.
    HeadersMissing {
        /// The path of the route.
        path: String,
        /// The name of the headers.
        name: String,
    },
    /// The name of a set of security headers is not that of its content.
    HeadersRenamed {
        /// The name.
        name: String,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "this is no manifest: {error}"),
            Self::Newer { format } => write!(
                f,
                "this manifest has format {format}, and this release reads up to {FORMAT}: use the \
                 release that wrote it, or a newer one"
            ),
            Self::HeadersMissing { path, name } => write!(
                f,
                "the route `{path}` refers to the headers `{name}`, which the manifest does not \
                 have: restore the file, or write it anew"
            ),
            Self::HeadersRenamed { name } => write!(
                f,
                "the headers `{name}` were changed by hand: restore the file, or write it anew"
            ),
        }
    }
}

impl Error for ReadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(error),
            _ => None,
        }
    }
}

impl Manifest {
    /// Reads a manifest, in its normal form.
    ///
    /// # Errors
    ///
    /// [`ReadError`]: a field that this release does not know is an error, too, since it may restrict
    /// what the rest allows.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        manifest(serde_json::from_str(text).map_err(ReadError::Malformed)?)
    }
}

/// The manifest of a JSON object.
pub(super) fn manifest(fields: Map<String, Value>) -> Result<Manifest, ReadError> {
    let format = fields.get("format").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    if let Some(format) = format.filter(|format| *format > FORMAT) {
        return Err(ReadError::Newer { format });
    }
    let manifest: Manifest =
        serde_json::from_value(Value::Object(fields)).map_err(ReadError::Malformed)?;
    for (name, headers) in &manifest.headers {
        if headers.name() != *name {
            return Err(ReadError::HeadersRenamed { name: name.clone() });
        }
    }
    for route in &manifest.routes {
        if let Some(name) = &route.headers
            && !manifest.headers.contains_key(name)
        {
            let (path, name) = (route.path.clone(), name.clone());
            return Err(ReadError::HeadersMissing { path, name });
        }
    }
    Ok(manifest.normal())
}
