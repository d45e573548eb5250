//! The lints over an app's policy, with the suppressions of its lock file.

use std::path::Path;

use policy_manifest::{Date, Finding, Manifest, Suppression, lint};

use super::lock::{Subject, lock_file, read_lock};

/// Runs the lints. Prints the findings that need not be corrected.
#[expect(clippy::print_stdout, reason = "a test says so what it saw")]
pub(super) fn check(manifest: &Manifest, subject: Subject) -> Result<(), String> {
    let lock = lock_file(subject);
    let suppressed = read_lock(&lock)?.map(|lock| lock.suppressed).unwrap_or_default();
    let today = Date::today();
    let findings = lint(manifest, &suppressed, today).findings.into_iter();
    let (errors, others): (Vec<_>, Vec<_>) = findings.partition(Finding::is_error);
    for finding in &others {
        println!("{finding}\n");
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(text_of(&errors, &lock)),
    }
}

fn text_of(errors: &[Finding], lock: &Path) -> String {
    let found: String = errors.iter().map(|finding| format!("\n{finding}\n")).collect();
    let text = format!("the policy of the app has findings that are not suppressed:\n{found}");
    let lines = errors.iter().flat_map(Suppression::lines_for);
    let lines: Vec<_> = lines.map(|line| line.to_string()).collect();
    if lines.is_empty() {
        return text;
    }
    format!(
        "{text}\n  help      if that is meant, add these lines to `suppressed` in {}, with who \
         suppresses it and why, and perhaps the last day on which that holds as \
         `\"until\":\"2027-01-31\"`:\n\n  \"suppressed\": [\n    {}\n  ],",
        lock.display(),
        lines.join(",\n    ")
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use policy_core_tests::folder::Folder;
    use policy_manifest::Lock;

    use super::*;
    use crate::{prelude::*, testing::lock::LockTest};

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["http://partner.example"], credentials, dangerous_insecure_origins)]
    async fn orders() {}

    /// Checks the app with a lock file that suppresses this.
    fn check_app(suppressed: Vec<Suppression>) -> String {
        let app = App::new(()).sessions(Sessions::memory()).routes(routes![orders]);
        let manifest = LockTest::new(&app.parts).manifest;
        let folder = Folder::new().unwrap();
        let lock = Lock { suppressed, ..Lock::new(manifest.clone()) };
        fs::write(folder.path().join("policy.lock"), lock.to_json()).unwrap();
        let path: &'static str = Box::leak(folder.path().display().to_string().into_boxed_str());
        let subject = Subject { folder: path, package: "shop", name: "policy_laws" };
        check(&manifest, subject).err().unwrap_or_default()
    }

    #[test]
    fn the_test_says_the_line_that_suppresses_a_finding() {
        let text = check_app(Vec::new());
        assert!(text.starts_with("the policy of the app has findings"), "{text}");
        assert!(text.contains("(lint.insecure-origins)"), "{text}");
        let line = text.lines().find(|line| line.contains("\"who\":\"\"")).unwrap();
        let unsigned: Suppression = serde_json::from_str(line.trim()).unwrap();
        let text = check_app(vec![unsigned.clone()]);
        assert!(text.contains("(lint.suppression-unsigned)"), "{text}");
        let signed = Suppression { who: "ada".into(), why: "a kiosk".into(), ..unsigned };
        assert_eq!(check_app(vec![signed]), "");
    }

    #[test]
    fn a_suppression_cannot_suppress_findings_about_suppressions() {
        let of = |lint: &str, until: Option<&str>| Suppression {
            lint: lint.to_owned(),
            route: None,
            who: "ada".to_owned(),
            why: "why".to_owned(),
            until: until.map(|day| day.parse().unwrap()),
        };
        let expired = of("lint.own-origin", Some("2020-01-01"));
        let text = check_app(vec![of("lint.insecure-origins", None), expired]);
        assert!(text.contains("(lint.suppression-expired)"), "{text}");
        assert!(text.contains("2020-01-01") && !text.contains("add these lines"), "{text}");
    }
}
