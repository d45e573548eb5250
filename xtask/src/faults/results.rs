//! The result of each fault, written at once, so that an interrupted run can be resumed.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::verdict::Verdict;
use crate::{Failure, Outcome};

/// The results so far, and the file with one per line.
pub(super) struct Results {
    path: PathBuf,
    file: File,
    pub(super) results: Vec<Trial>,
}

/// A fault that was run.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Trial {
    pub(super) fault: String,
    pub(super) verdict: String,
    /// The tests that failed.
    pub(super) killed_by: Vec<String>,
    pub(super) took: Duration,
}

impl Results {
    /// Begins a results file, with the faults that the last run killed or empty.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn begin(path: &Path, is_resumed: bool) -> Outcome<Self> {
        let old =
            if is_resumed { fs::read_to_string(path).unwrap_or_default() } else { String::new() };
        let file = File::create(path).map_err(Failure::with_path("create", path))?;
        let mut results = Self { path: path.to_owned(), file, results: Vec::new() };
        // The last line may be truncated.
        let trials = old.lines().filter_map(|line| serde_json::from_str::<Trial>(line).ok());
        for trial in trials.filter(|trial| !trial.killed_by.is_empty()) {
            results.write(trial)?;
        }
        Ok(results)
    }

    pub(super) fn add(&mut self, fault: &str, verdict: &Verdict, took: Duration) -> Outcome {
        let killed_by = match verdict {
            Verdict::Killed { tests } => tests.clone(),
            _ => Vec::new(),
        };
        self.write(Trial { fault: fault.to_owned(), verdict: verdict.to_string(), killed_by, took })
    }

    fn write(&mut self, trial: Trial) -> Outcome {
        let line =
            serde_json::to_string(&trial).map_err(|error| Failure::new(error.to_string()))?;
        writeln!(self.file, "{line}").map_err(Failure::with_path("write", &self.path))?;
        self.results.push(trial);
        Ok(())
    }

    pub(super) fn has(&self, fault: &str) -> bool {
        self.results.iter().any(|trial| trial.fault == fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folders;

    #[test]
    fn a_run_resumes_with_the_unkilled_faults() {
        let folder = folders::target().join("xtask-results");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("results.jsonl");
        let mut first = Results::begin(&path, false).unwrap();
        let killed = Verdict::Killed { tests: vec!["a::b".to_owned()] };
        first.add("dead", &killed, Duration::from_millis(1)).unwrap();
        first.add("alive", &Verdict::Survived, Duration::from_millis(1)).unwrap();
        write!(first.file, "{{\"fault\": \"cut off").unwrap();
        let second = Results::begin(&path, true).unwrap();
        assert!(second.has("dead") && !second.has("alive"));
        assert_eq!(Results::begin(&path, true).unwrap().results, second.results);
        assert!(!Results::begin(&path, false).unwrap().has("dead"));
    }
}
