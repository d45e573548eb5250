//! Totals over many test binaries.

use std::fmt;

/// Test counts, read from the last lines of each test binary's output.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    passed: u64,
    failed: u64,
    names_of_failed: Vec<String>,
}

impl Totals {
    /// Adds `test result: ok. 5 passed; 0 failed; ..` and records `test a::b ... FAILED`; other
    /// lines are ignored.
    pub(crate) fn read(&mut self, line: &str) {
        self.names_of_failed.extend(failed_test(line).map(str::to_owned));
        let Some(counts) = line.trim().strip_prefix("test result: ") else { return };
        let counts = counts.split_once(". ").map_or(counts, |(_, counts)| counts);
        for count in counts.split("; ") {
            let Some((number, what)) = count.split_once(' ') else { continue };
            let number: u64 = number.parse().unwrap_or(0);
            match what {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                _ => (),
            }
        }
    }

    /// The tests that failed, which are listed far up in the output.
    pub(crate) fn names_of_failed(&self) -> &[String] {
        &self.names_of_failed
    }

    /// Adds checks that are not tests of a test binary, such as killed and surviving faults.
    pub(crate) fn add(&mut self, passed: usize, failed: usize) {
        self.passed += passed as u64;
        self.failed += failed as u64;
    }
}

/// The name in `test a::b ... FAILED`.
pub(crate) fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_summed_and_others_ignored() {
        let mut totals = Totals::default();
        for line in [
            "running 3 tests",
            "test a::b ... FAILED",
            "test a::c ... ok",
            "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; \
             finished in 0.02s",
            "test result: FAILED. 4 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out",
            "7 passed; 7 failed",
        ] {
            totals.read(line);
        }
        assert_eq!(totals.to_string(), "6 passed, 3 failed");
        assert_eq!(totals.names_of_failed(), ["a::b"]);
    }
}
