//! Lists of origins from a file.

use std::{collections::BTreeMap, fs, path::Path};

use axum_core::BoxError;
use policy_core::Rule;
use serde::Deserialize;

use crate::base::error::StartProblem;

/// The tables of a configuration file; unknown ones are errors.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigFile {
    #[serde(default)]
    pub(super) origins: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(super) bounds: BTreeMap<String, Vec<String>>,
}

impl ConfigFile {
    pub(super) fn read(path: &Path) -> Result<Self, StartProblem> {
        let unreadable = |cause: BoxError| {
            let path = path.display().to_string();
            StartProblem::new(Rule::ConfigFile, "App::config_file", path).caused_by(cause)
        };
        let text = fs::read_to_string(path).map_err(|error| unreadable(error.into()))?;
        // Windows editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            unreadable(format!("line {line}: {}", error.message()).into())
        })
    }
}
