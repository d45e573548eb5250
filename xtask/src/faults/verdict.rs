//! Interprets the output of a test run with a fault.

use std::fmt;

use crate::{command::Captured, totals::failed_test};

/// The result of a fault.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The tests took too long.
    Hung(String),
    /// These tests failed, at least one.
    Killed { tests: Vec<String> },
    /// No test ran.
    NoTests,
    /// It did not compile.
    NotBuilt(String),
    /// The program ended without a failing test.
    Ended(String),
    /// All tests passed.
    Survived,
}

impl Verdict {
    pub(super) fn from_captured(captured: &Captured) -> Self {
        let output = &captured.output;
        let tests: Vec<String> =
            output.lines().filter_map(failed_test).map(str::to_owned).collect();
        let ran = |line: &str| line.starts_with("test result: ok. ") && !line.contains(" 0 passed");
        match captured.success {
            None => Self::Hung(output.clone()),
            Some(true) if output.lines().any(ran) => Self::Survived,
            Some(true) => Self::NoTests,
            Some(false) if !tests.is_empty() => Self::Killed { tests },
            Some(false) => Self::Ended(output.clone()),
        }
    }

    /// The output that helps to correct the entry.
    pub(super) fn output(&self) -> Option<&str> {
        match self {
            Self::Hung(output) | Self::NotBuilt(output) | Self::Ended(output) => Some(output),
            Self::Killed { .. } | Self::NoTests | Self::Survived => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hung(_) => f.write_str("NO VERDICT: the tests took too long"),
            Self::Killed { tests } => {
                let [first, others @ ..] = tests.as_slice() else { return Ok(()) };
                f.write_str(first)?;
                if others.is_empty() { Ok(()) } else { write!(f, " and {} more", others.len()) }
            }
            Self::NoTests => f.write_str("NO VERDICT: no test was run"),
            Self::NotBuilt(_) => f.write_str("NO VERDICT: it does not compile"),
            Self::Ended(_) => f.write_str("NO VERDICT: failed without a failing test"),
            Self::Survived => f.write_str("SURVIVED: all tests passed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn verdict(success: bool, output: &str) -> Verdict {
        let took = Duration::ZERO;
        Verdict::from_captured(&Captured {
            success: Some(success),
            output: output.to_owned(),
            took,
        })
    }

    #[test]
    fn a_failing_test_kills() {
        let output = "test a::b ... FAILED\ntest a::c ... ok\ntest a::d ... FAILED\n";
        assert_eq!(verdict(false, output).to_string(), "a::b and 1 more");
    }

    #[test]
    fn a_program_that_ends_by_itself_does_not_kill() {
        assert!(matches!(verdict(false, "memory allocation failed"), Verdict::Ended(_)));
    }

    #[test]
    fn a_run_without_tests_has_no_verdict() {
        let none = "test result: ok. 0 passed; 0 failed; 0 ignored\n";
        assert_eq!(verdict(true, none), Verdict::NoTests);
        let one = format!("{none}test result: ok. 1 passed; 0 failed; 0 ignored\n");
        assert_eq!(verdict(true, &one), Verdict::Survived);
    }
}
