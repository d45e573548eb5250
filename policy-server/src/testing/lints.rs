//! The lints over an app's policy, with the suppressions of its lock file.

use std::{fmt, path::PathBuf, time::SystemTime};

use policy_core::{
    manifest::{Date, Finding, Manifest, Suppression, lint},
    time::Timestamp,
};

use super::lock::{LockError, Subject, lock_file, read_lock};

/// Why the lint test of an app fails.
#[derive(Debug)]
pub(super) struct LintError {
    lock: PathBuf,
    errors: Vec<Finding>,
}

impl fmt::Display for LintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the policy of the app has findings that nobody has suppressed:")?;
        for finding in &self.errors {
            writeln!(f, "\n{finding}")?;
        }
        let lines: Vec<_> = self
            .errors
            .iter()
            .flat_map(Suppression::lines_for)
            .map(|line| line.to_string())
            .collect();
        if lines.is_empty() {
            return Ok(());
        }
        write!(
            f,
            "\n  help      if that is meant, add these lines to `suppressed` in {}, with who \
             suppresses it and why, and perhaps the last day on which that holds as \
             `\"until\":\"2027-01-31\"`:\n\n  \"suppressed\": [\n    {}\n  ],",
            self.lock.display(),
            lines.join(",\n    ")
        )
    }
}

/// Looks for what is odd. Prints what need not be corrected.
#[expect(clippy::print_stdout, reason = "a test says so what it saw")]
pub(super) fn check(manifest: &Manifest, subject: Subject) -> Result<(), LockError> {
    let lock = lock_file(subject);
    let suppressed = read_lock(&lock)?.map(|lock| lock.suppressed).unwrap_or_default();
    let (errors, others) = errors_and_others(manifest, &suppressed);
    for finding in &others {
        println!("{finding}\n");
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(LockError::Odd(LintError { lock, errors })),
    }
}

fn errors_and_others(
    manifest: &Manifest,
    suppressed: &[Suppression],
) -> (Vec<Finding>, Vec<Finding>) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let today = Date::of(Timestamp::from_seconds(now.as_secs()));
    lint(manifest, suppressed, today).findings.into_iter().partition(Finding::is_error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{prelude::*, testing::lock::LockTest};

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["http://partner.example"], credentials, dangerous_insecure_origins)]
    async fn orders() {}

    fn manifest() -> Manifest {
        let app = App::new(()).sessions(Sessions::memory()).routes(routes![orders]);
        LockTest::new(&app.parts).manifest
    }

    #[test]
    fn the_test_says_the_line_that_suppresses_a_finding() {
        let (errors, _) = errors_and_others(&manifest(), &[]);
        let text = LintError { lock: "policy.lock".into(), errors }.to_string();
        assert!(text.starts_with("the policy of the app has findings"), "{text}");
        assert!(text.contains("(lint.insecure-origins)"), "{text}");
        let line = text.lines().find(|line| line.contains("\"who\":\"\"")).unwrap();
        let unsigned: Suppression = serde_json::from_str(line.trim()).unwrap();
        let (errors, _) = errors_and_others(&manifest(), std::slice::from_ref(&unsigned));
        assert_eq!(errors.len(), 2, "{errors:?}");
        let signed = Suppression { who: "ada".into(), why: "a kiosk".into(), ..unsigned };
        let (errors, _) = errors_and_others(&manifest(), std::slice::from_ref(&signed));
        assert_eq!(errors, []);
    }

    #[test]
    fn what_is_wrong_with_a_suppression_is_not_suppressed_by_a_line() {
        let unused = Suppression {
            lint: "lint.own-origin".to_owned(),
            route: None,
            who: "ada".to_owned(),
            why: "why".to_owned(),
            until: Some("2020-01-01".parse().unwrap()),
        };
        let (mut errors, _) = errors_and_others(&manifest(), &[unused]);
        errors.retain(|finding| finding.lint == policy_core::Lint::SuppressionExpired);
        let text = LintError { lock: "policy.lock".into(), errors }.to_string();
        assert!(text.contains("2020-01-01") && !text.contains("add these lines"), "{text}");
    }
}
