//! Checks in seconds that each entry still fits the tree, before a long run.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
};

use super::{
    entry::Fault,
    killer::{Killer, Target},
    sources::{Place, Sources},
};
use crate::{Failure, Outcome, folders, project};

/// The sources of all crates that have faults, by name.
pub(super) struct Crates(BTreeMap<String, Sources>);

impl Crates {
    /// Reads the crates of these faults.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub(super) fn new(faults: &[Fault]) -> Outcome<Self> {
        let mut crates = BTreeMap::new();
        for fault in faults {
            if !crates.contains_key(&fault.package) {
                let folder = folders::root().join(&fault.package).join("src");
                crates.insert(fault.package.clone(), Sources::read(&folder)?);
            }
        }
        Ok(Self(crates))
    }

    /// Where each edit of a fault applies, or what to correct.
    pub(super) fn places(&self, fault: &Fault) -> Result<Vec<Place<'_>>, String> {
        let sources = self.0.get(&fault.package).ok_or("its crate was not read")?;
        fault.edit.iter().map(|edit| sources.place(edit)).collect()
    }
}

/// Checks that each edit matches exactly one place, and that the named tests exist.
///
/// # Errors
///
/// Every entry to correct, and how.
pub(super) fn check(faults: &[Fault], crates: &Crates) -> Outcome {
    let mut tests = Tests::in_workspace()?;
    let mut stale = Vec::new();
    for fault in faults {
        let place = crates.places(fault).map(drop);
        for problem in [place, tests.check(&fault.killed_by)?].into_iter().filter_map(Result::err) {
            stale.push(format!("{}: `{}`: {problem}", fault.file.display(), fault.name));
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    let text = stale.join("\n\n");
    Err(Failure::new(format!("{text}\n\n{} of {} faults are stale", stale.len(), faults.len())))
}

/// The test binaries of the workspace, and the test names of those that were queried.
struct Tests {
    folders: BTreeMap<Target, PathBuf>,
    names: HashMap<PathBuf, Vec<String>>,
}

impl Tests {
    fn in_workspace() -> Outcome<Self> {
        let mut folders = BTreeMap::new();
        for package in project::packages()? {
            for target in package.targets {
                let folder = target.src_path.parent().unwrap_or(&target.src_path).to_owned();
                let test = match () {
                    () if target.is_a("test") => Some(target.name),
                    () if target.is_library() => None,
                    () => continue,
                };
                folders.insert(Target { package: package.name.clone(), test }, folder);
            }
        }
        Ok(Self { folders, names: HashMap::new() })
    }

    /// Whether the binary exists, and has a test that the filter selects.
    fn check(&mut self, killer: &Killer) -> Outcome<Result<(), String>> {
        let Some(folder) = self.folders.get(&killer.target) else {
            return Ok(Err(format!("there is no test binary `{}`", killer.target)));
        };
        if !self.names.contains_key(folder) {
            self.names.insert(folder.clone(), Sources::read(folder)?.tests(folder));
        }
        let filter = killer.filter.as_deref().unwrap_or_default();
        let mut names = self.names.get(folder).into_iter().flatten();
        Ok(if names.any(|name| name.contains(filter)) {
            Ok(())
        } else {
            Err(format!("`{}` has no test with `{filter}` in its name", killer.target))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::entry;

    /// `cargo test --package xtask every_fault` shows in a second which entries a change has made
    /// stale.
    #[test]
    fn every_fault_finds_its_place_and_its_tests() {
        let faults = entry::read().unwrap();
        let crates = Crates::new(&faults).unwrap();
        if let Err(failure) = check(&faults, &crates) {
            panic!("{failure}");
        }
    }
    #[test]
    fn a_killer_names_a_test_by_a_part_of_its_path() {
        let mut tests = Tests::in_workspace().unwrap();
        let mut check = |killer: &str| {
            tests.check(&Killer::try_from(killer.to_owned()).unwrap()).unwrap().is_ok()
        };
        for (killer, is_known) in [
            ("-p policy-core --lib", true),
            ("-p policy-core --lib origin::set::tests::a_wildcard_needs", true),
            // Names that occur in the sources, but not in a test.
            ("-p policy-core --lib origin::a_wildcard_needs", false),
            ("-p policy-core --lib origin::set::OriginSet::covers", false),
            ("-p policy-core --test cases cors::", false),
            ("-p policy-core-tests --test cases cors::", true),
        ] {
            assert_eq!(check(killer), is_known, "{killer}");
        }
    }
}
