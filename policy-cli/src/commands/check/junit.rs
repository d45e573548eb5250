//! A check as JUnit XML: a suite for each policy, with a test for each rule.

use std::fmt::Write as _;

use policy_manifest::rules::{RuleProblem, RuleViolation};

use super::report::Group;
use crate::escape::markup;

pub(super) fn render(groups: &[Group]) -> String {
    let mut text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"policy\">\n".to_owned();
    for group in groups {
        for policy in 0..group.inputs.len() {
            text += &suite_of_policy(group, policy);
        }
        text += &suite_of_rules(group);
    }
    text + "</testsuites>\n"
}

/// The rules, each with its violations by one policy.
fn suite_of_policy(group: &Group, policy: usize) -> String {
    let name = group.inputs.get(policy).map(|input| input.name.as_str()).unwrap_or_default();
    let mut ids: Vec<&str> = group.rules.rules().iter().map(|rule| rule.id.as_str()).collect();
    ids.dedup();
    let cases = ids.into_iter().map(|id| {
        let violations = group.checked.violations.iter();
        let of_rule: Vec<&RuleViolation> = violations
            .filter(|violation| {
                violation.policy == policy && violation.rule.id == id && violation.is_error()
            })
            .collect();
        let failures = of_rule.iter().map(|violation| {
            let facts = group.facts(violation).into_iter();
            let facts = facts.map(|(name, value)| format!("{name}: {}", markup(&value)));
            (markup(&violation.about), facts.collect::<Vec<_>>().join("\n"))
        });
        (id.to_owned(), failures.collect())
    });
    suite(name, cases.collect())
}

/// What is wrong with the rules themselves.
fn suite_of_rules(group: &Group) -> String {
    let problems = group.checked.problems.iter().filter(|problem| problem.is_error);
    let cases: Vec<_> = problems
        .map(|RuleProblem { rule, place, message, help, .. }| {
            (rule.clone(), vec![(markup(message), markup(&format!("{place}: {help}")))])
        })
        .collect();
    if cases.is_empty() { String::new() } else { suite("policy.rules", cases) }
}

/// Tests with their failures: a message and a text each, both as markup.
type Cases = Vec<(String, Vec<(String, String)>)>;

fn suite(name: &str, cases: Cases) -> String {
    let failures = cases.iter().filter(|(_, failures)| !failures.is_empty()).count();
    let (count, name) = (cases.len(), markup(name));
    let mut text =
        format!("  <testsuite name=\"{name}\" tests=\"{count}\" failures=\"{failures}\">\n");
    for (rule, failures) in cases {
        let rule = markup(&rule);
        let _ = write!(text, "    <testcase classname=\"{name}\" name=\"{rule}\"");
        if failures.is_empty() {
            text += "/>\n";
            continue;
        }
        let (messages, bodies): (Vec<_>, Vec<_>) = failures.into_iter().unzip();
        let (message, body) = (messages.join("; "), bodies.join("\n\n"));
        let _ = write!(
            text,
            ">\n      <failure message=\"{message}\">{body}</failure>\n    </testcase>\n"
        );
    }
    text + "  </testsuite>\n"
}
