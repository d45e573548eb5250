//! The rules about an app's policy, in `policy.rules` beside its lock file.

use std::path::Path;

use policy_manifest::{
    Date, Manifest, Sources,
    rules::{self, CheckedPolicy, RuleViolation, Rules},
};

use super::lock::Subject;

/// Checks a policy by the rules beside its lock file, if there are any. Prints what does not fail.
#[expect(clippy::print_stdout, reason = "a test says so what it saw")]
pub(super) fn check(
    manifest: &Manifest,
    sources: &Sources,
    subject: Subject,
) -> Result<(), String> {
    let file = Path::new(subject.folder).join("policy.rules");
    if !file.exists() {
        return Ok(());
    }
    let rules = Rules::read([file]).map_err(|error| error.to_string())?;
    let today = Date::today();
    let policy = CheckedPolicy { name: subject.package, manifest };
    let checked = rules::check(&rules, &[policy], today);
    let checked = checked.map_err(|error| error.to_string())?;
    let holds = checked.holds();
    let (violations, others): (Vec<_>, Vec<_>) =
        checked.violations.into_iter().partition(RuleViolation::is_error);
    let (problems, notes): (Vec<_>, Vec<_>) =
        checked.problems.into_iter().partition(|problem| problem.is_error);
    others.iter().for_each(|violation| println!("{violation}\n"));
    notes.iter().for_each(|problem| println!("{problem}\n"));
    if holds {
        return Ok(());
    }
    let mut text = "the policy of the app does not keep to its rules:\n".to_owned();
    for violation in violations {
        text += &format!("\n{violation}\n");
        if let Some(source) = violation.source(sources) {
            text += &format!("  line     {}:{}\n", source.file, source.line);
        }
    }
    text.extend(problems.iter().map(|problem| format!("\n{problem}\n")));
    Err(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use policy_core_tests::folder::Folder;

    use super::*;
    use crate::{prelude::*, testing::lock::LockTest};

    #[get("/admin/users")]
    #[auth(session, roles = ["admin", "staff"])]
    async fn users() {}

    /// Checks the app by these rules.
    fn check_app(rules: Option<&str>) -> String {
        let app = App::new(()).sessions(Sessions::memory()).routes(routes![users]);
        let LockTest { manifest, sources, .. } = LockTest::new(&app.parts);
        let folder = Folder::new().unwrap();
        if let Some(rules) = rules {
            fs::write(folder.path().join("policy.rules"), rules).unwrap();
        }
        let path: &'static str = Box::leak(folder.path().display().to_string().into_boxed_str());
        let subject = Subject { folder: path, package: "shop", name: "policy_laws" };
        check(&manifest, &sources, subject).err().unwrap_or_default()
    }

    #[test]
    fn the_test_says_the_request_and_the_line_that_violate_a_rule() {
        let rules = |role: &str| {
            format!("[never.strangers]\nroutes = [\"/admin/**\"]\nwithout-roles = [{role}]")
        };
        let text = check_app(Some(&rules("\"admin\"")));
        assert!(text.starts_with("the policy of the app does not keep to its rules:"), "{text}");
        assert!(text.contains("GET /admin/users with a session with the role `staff`"), "{text}");
        assert!(text.contains("  line     "), "{text}");
        assert_eq!(check_app(Some(&rules("\"admin\", \"staff\""))), "");
        assert_eq!(check_app(None), "");
    }

    #[test]
    fn rules_that_cannot_be_read_or_match_nothing_fail() {
        let text = check_app(Some("[nevr.a]"));
        assert!(text.contains("policy.rules:1: `nevr` is not a known key"), "{text}");
        let text = check_app(Some("[public]\nroutes = [\"/b\"]"));
        assert!(text.contains("`/b` selects no route"), "{text}");
    }
}
