//! The entries of `faults/CRATE/MODULE.toml`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::killer::Killer;
use crate::{Failure, Outcome, folders};

/// A file of entries.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    fault: Vec<Fault>,
}

/// A rule that is broken.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    /// The folder below `faults`, which is the crate whose sources are changed.
    #[serde(skip)]
    pub(super) package: String,
    /// The file of the entry.
    #[serde(skip)]
    pub(super) file: PathBuf,
    pub(super) name: String,
    /// The broken rule, in words.
    pub(super) what: String,
    pub(super) killed_by: Killer,
    /// Whether `cargo xtask check` includes it.
    #[serde(default)]
    pub(super) short: bool,
    pub(super) edit: Vec<Edit>,
}

/// A change of a text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edit {
    /// The path of the innermost item that contains all of the text, without the modules that are
    /// files; its last names are enough. Empty for text outside of items.
    #[serde(rename = "in")]
    pub(super) item: String,
    /// The text; white space is ignored.
    pub(super) find: String,
    pub(super) replace: String,
}

/// All faults, by file and in their order there.
///
/// # Errors
///
/// A file cannot be read, or two faults have the same name.
pub(super) fn read() -> Outcome<Vec<Fault>> {
    let folder = folders::root().join("faults");
    let mut faults = Vec::new();
    for package in entries_of(&folder)? {
        for file in entries_of(&package)? {
            faults.extend(read_file(&package, &file)?);
        }
    }
    let mut names = BTreeSet::new();
    match faults.iter().find(|fault| !names.insert(&fault.name)) {
        Some(fault) => Err(Failure::new(format!("two faults are named `{}`", fault.name))),
        None => Ok(faults),
    }
}

fn read_file(package: &Path, file: &Path) -> Outcome<Vec<Fault>> {
    let text = fs::read_to_string(file).map_err(Failure::with_path("read", file))?;
    let entries: Entries = toml::from_str(&text)
        .map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
    let package = package.file_name().unwrap_or_default().to_string_lossy();
    let mut faults = entries.fault;
    for fault in &mut faults {
        fault.package = package.clone().into_owned();
        fault.file = file.strip_prefix(folders::root()).unwrap_or(file).to_owned();
    }
    Ok(faults)
}

fn entries_of(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(Failure::with_path("read", folder))?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}
