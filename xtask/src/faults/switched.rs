//! Many faults in one build, each switched on by an environment variable.
//!
//! Every function that faults change gets an additional body for each of them. A build takes much
//! longer than a test, and this needs one build instead of one per fault. Code that the compiler
//! evaluates (constants, `const fn`, macros) or checks (types, signatures) cannot contain a switch,
//! so such faults are built separately.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::{Range, RangeInclusive},
    path::{Path, PathBuf},
};

use super::{build::BuildError, placed::Placed, sources::Source};
use crate::{Failure, Outcome, folders};

/// The variable with the name of the active fault.
pub(super) const VARIABLE: &str = "POLICY_SEEDED_FAULT";

/// The function that the switches call, in the root of each crate.
const IS_ON: &str = r#"
/// Whether this fault is switched on.
pub(crate) fn seeded_fault(name: &str) -> bool {
    static ON: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    ON.get_or_init(|| std::env::var("POLICY_SEEDED_FAULT").ok()).as_deref() == Some(name)
}
"#;

/// Whether a fault changes only bodies of functions that run.
pub(super) fn is_switchable(placed: &Placed<'_>) -> bool {
    placed.places.iter().all(|place| place.body.is_some())
}

/// Files that contain many faults.
#[derive(Default)]
pub(super) struct Switched {
    pub(super) files: BTreeMap<PathBuf, String>,
    lines: BTreeMap<PathBuf, Vec<Lines>>,
}

/// The lines that belong to certain faults. Inner ones of a file come after outer ones.
struct Lines {
    range: RangeInclusive<usize>,
    faults: Vec<String>,
}

/// The body of a function, and the faults that change it.
struct Body<'a> {
    source: &'a Source,
    range: Range<usize>,
    faults: Vec<&'a Placed<'a>>,
}

impl Switched {
    /// Applies switchable faults to the files that they change.
    ///
    /// # Errors
    ///
    /// The root of a crate cannot be read.
    pub(super) fn new(faults: &[Placed<'_>]) -> Outcome<Self> {
        let mut files: BTreeMap<&Path, BTreeMap<usize, Body<'_>>> = BTreeMap::new();
        for placed in faults {
            for place in &placed.places {
                let Some(range) = place.body.clone() else { continue };
                let bodies = files.entry(&place.source.file).or_default();
                let body = bodies.entry(range.start).or_insert_with(|| Body {
                    source: place.source,
                    range,
                    faults: Vec::new(),
                });
                if !body.faults.iter().any(|known| known.fault.name == placed.fault.name) {
                    body.faults.push(placed);
                }
            }
        }
        let mut switched = Self::default();
        for (file, bodies) in files {
            switched.add(file, &bodies.into_values().collect::<Vec<_>>());
        }
        let packages: BTreeSet<&String> =
            faults.iter().map(|placed| &placed.fault.package).collect();
        for package in packages {
            switched.add_switch(package)?;
        }
        Ok(switched)
    }

    fn add_switch(&mut self, package: &str) -> Outcome {
        let sources = Path::new(package).join("src");
        let library = sources.join("lib.rs");
        let has_library = folders::root().join(&library).is_file();
        let root = if has_library { library } else { sources.join("main.rs") };
        let text = match self.files.remove(&root) {
            Some(text) => text,
            None => {
                let path = folders::root().join(&root);
                fs::read_to_string(&path).map_err(Failure::with_path("read", &path))?
            }
        };
        self.files.insert(root, text + IS_ON);
        Ok(())
    }

    fn add(&mut self, file: &Path, bodies: &[Body<'_>]) {
        let Some(source) = bodies.first().map(|body| body.source) else { return };
        let (mut text, mut lines, mut from) = (String::new(), Vec::new(), 0);
        for body in bodies {
            text.push_str(source.part(from..body.range.start));
            let all = body.faults.iter().map(|placed| placed.fault.name.clone()).collect();
            let (start, outer) = (line(&text), lines.len());
            for placed in &body.faults {
                let name = &placed.fault.name;
                let start = line(&text);
                let changed = placed.apply(source, body.range.clone());
                text.push_str(&format!(" if crate::seeded_fault({name:?}) {{{changed}}} else "));
                lines.push(Lines { range: start..=line(&text), faults: vec![name.clone()] });
            }
            text.push_str(&format!("{{{}}} ", source.part(body.range.clone())));
            lines.insert(outer, Lines { range: start..=line(&text), faults: all });
            from = body.range.end;
        }
        text.push_str(source.part(from..source.text.len()));
        self.files.insert(file.to_owned(), text);
        self.lines.insert(file.to_owned(), lines);
    }

    /// The faults that may cause a compile error.
    pub(super) fn suspects(&self, error: &BuildError) -> BTreeSet<&str> {
        let points = error.errors.iter();
        let faults = points
            .filter_map(|lines| lines.iter().find_map(|(file, line)| self.faults_of(file, *line)));
        faults.flatten().map(String::as_str).collect()
    }

    fn faults_of(&self, file: &Path, line: usize) -> Option<&[String]> {
        let mut lines = self.lines.get(file)?.iter().rev();
        lines.find(|lines| lines.range.contains(&line)).map(|lines| lines.faults.as_slice())
    }
}

/// The number of the last line.
fn line(text: &str) -> usize {
    text.matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{check::Crates, entry};

    #[test]
    fn each_fault_has_a_body_that_its_name_switches_on() {
        let faults = entry::read().unwrap();
        let crates = Crates::new(&faults).unwrap();
        let placed = |fault| Placed { fault, places: crates.places(fault).unwrap() };
        let mut all: Vec<Placed<'_>> = faults.iter().map(placed).collect();
        all.retain(is_switchable);
        let switched = Switched::new(&all).unwrap();
        for placed in &all {
            let name = &placed.fault.name;
            let switch = format!("if crate::seeded_fault({name:?}) {{");
            let (file, text) =
                switched.files.iter().find(|(_, text)| text.contains(&switch)).unwrap();
            let error = BuildError {
                errors: vec![vec![(file.clone(), line(text.split(&switch).next().unwrap()))]],
                text: String::new(),
            };
            assert!(switched.suspects(&error).contains(&**name), "{name}");
            let replaced = placed.fault.edit[0].replace.trim();
            assert!(text.contains(replaced), "{name}");
        }
        for root in
            ["policy-browser", "policy-cli", "policy-core", "policy-manifest", "policy-server"]
        {
            assert!(switched.files[&Path::new(root).join("src/lib.rs")].ends_with(IS_ON));
        }
    }
}
