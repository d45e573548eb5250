//! What a check finds, in each format.

use std::{fmt::Write as _, path::Path};

use policy_manifest::{
    FindingSeverity,
    rules::{CheckReport, RuleProblem, RuleViolation, Rules},
};
use serde_json::{Value, json};

use crate::{
    commands::diff::witness,
    escape::{json_text, printable},
    input::{Input, repository_of},
    markdown::{code, with_code, words},
    output::{BOLD, DIM},
    sarif::{self, SarifFinding, SarifLevel, SarifLocation},
    shown,
};

/// Policies that were checked by the same rules.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) rules: Rules,
    pub(super) inputs: Vec<Input>,
    pub(super) checked: CheckReport,
}

impl Group {
    pub(super) fn input(&self, violation: &RuleViolation) -> Option<&Input> {
        self.inputs.get(violation.policy)
    }

    /// The source line that decided; without one, the line of the lock file.
    fn line_of(&self, violation: &RuleViolation) -> Option<SarifLocation> {
        let input = self.input(violation)?;
        let source = input.sources.as_ref().and_then(|sources| violation.source(sources));
        input.line_of(source, violation.routes.iter().map(String::as_str))
    }

    fn curl(&self, violation: &RuleViolation) -> Option<String> {
        let own = self.input(violation).and_then(|it| it.manifest.app.public_origin.as_deref());
        Some(witness::curl(&violation.witness.as_ref()?.request, own))
    }

    /// The facts about a violation, in order.
    pub(super) fn facts(&self, violation: &RuleViolation) -> Vec<(&'static str, String)> {
        let name = self.input(violation).map(|input| input.name.clone()).unwrap_or_default();
        let mut facts = vec![("policy", name), ("at", shown::routes(violation.routes.iter()))];
        facts.extend(violation.witness.iter().map(|witness| ("witness", witness.to_string())));
        facts.extend(self.curl(violation).map(|line| ("curl", line)));
        if !violation.rule.why.is_empty() {
            facts.push(("why", violation.rule.why.clone()));
        }
        let line = self.line_of(violation);
        facts.extend(line.map(|place| ("line", format!("{}:{}", place.file, place.line))));
        facts.push(("rule", violation.rule.place.to_string()));
        facts
    }
}

/// What was found about all policies.
#[derive(Debug)]
pub(super) struct Report<'g> {
    groups: &'g [Group],
    /// The violations, the worst first.
    violations: Vec<(&'g Group, &'g RuleViolation)>,
}

impl<'g> Report<'g> {
    pub(super) fn new(groups: &'g [Group]) -> Self {
        let violations = groups.iter().flat_map(|group| {
            group.checked.violations.iter().map(move |violation| (group, violation))
        });
        let mut violations: Vec<_> = violations.collect();
        violations.sort_by_key(|(_, violation)| std::cmp::Reverse(violation.rule.severity));
        Self { groups, violations }
    }

    fn problems(&self) -> impl Iterator<Item = &'g RuleProblem> {
        self.groups.iter().flat_map(|group| &group.checked.problems)
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (group, violation) in &self.violations {
            let severity = violation.rule.severity;
            let (about, rule) = (printable(&violation.about), &violation.rule.id);
            let _ = writeln!(text, "{BOLD}{severity}{BOLD:#}: {about} {DIM}({rule}){DIM:#}");
            for (name, value) in group.facts(violation) {
                let _ = writeln!(text, "  {DIM}{name:<8}{DIM:#} {}", printable(&value));
            }
            text.push('\n');
        }
        for problem in self.problems() {
            let RuleProblem { rule, place, message, help, .. } = problem;
            let kind = if problem.is_error { "error" } else { "note" };
            let (message, rule) = (printable(message), printable(rule));
            let _ = writeln!(text, "{BOLD}{kind}{BOLD:#}: {message} {DIM}({rule}){DIM:#}");
            let _ = writeln!(text, "  {DIM}rule    {DIM:#} {}", printable(&place.to_string()));
            let _ = writeln!(text, "  {DIM}help    {DIM:#} {}\n", printable(help));
        }
        text + &self.summary() + "\n"
    }

    pub(super) fn markdown(&self) -> String {
        let mut text = format!("## Rules\n\n{}\n", words(&self.summary()));
        for (group, violation) in &self.violations {
            let (severity, rule) = (violation.rule.severity, code(&violation.rule.id));
            let _ = write!(text, "\n### {severity}: {} ({rule})\n\n", with_code(&violation.about));
            for (name, value) in group.facts(violation) {
                let value = match name {
                    "policy" | "why" | "witness" => with_code(&value),
                    _ => code(&value),
                };
                let _ = writeln!(text, "- {name}: {value}");
            }
        }
        for RuleProblem { rule, place, message, help, .. } in self.problems() {
            let (rule, place) = (code(rule), code(&place.to_string()));
            let _ = write!(text, "\n### {} ({rule})\n\n", with_code(message));
            let _ = writeln!(text, "- rule: {place}\n- help: {}", with_code(help));
        }
        text
    }

    fn summary(&self) -> String {
        let count = |count: usize, [one, many]: [&str; 2]| {
            format!("{count} {}", if count == 1 { one } else { many })
        };
        let policies: usize = self.groups.iter().map(|group| group.inputs.len()).sum();
        let rules: usize = self.groups.iter().map(|group| group.rules.rules().len()).sum();
        let excepted: usize = self.groups.iter().map(|group| group.checked.excepted.len()).sum();
        let policies = count(policies, ["policy", "policies"]);
        let rules = count(rules, ["rule", "rules"]);
        let problems = self.problems().filter(|problem| problem.is_error).count();
        let found = [
            (self.violations.len(), ["violation", "violations"]),
            (problems, ["error of the rules", "errors of the rules"]),
        ];
        let found = found.into_iter().filter(|(number, _)| *number > 0);
        let found: Vec<_> = found.map(|(number, words)| count(number, words)).collect();
        let mut summary = match found.is_empty() {
            true => format!("{policies} checked by {rules}: nothing is violated"),
            false => format!("{policies} checked by {rules}: {}", found.join(", ")),
        };
        if excepted > 0 {
            summary += &format!("; {excepted} excepted");
        }
        summary
    }

    pub(super) fn json(&self) -> String {
        let violations: Vec<_> =
            self.violations.iter().map(|(group, violation)| value(group, violation)).collect();
        let excepted = self.groups.iter().flat_map(|group| {
            group.checked.excepted.iter().map(move |(violation, exception)| {
                let mut value = value(group, violation);
                if let Value::Object(fields) = &mut value {
                    let line = &exception.line;
                    let by = json!({ "who": line.who, "why": line.why, "until": line.until });
                    fields.insert("excepted_by".to_owned(), by);
                }
                value
            })
        });
        let excepted: Vec<_> = excepted.collect();
        let problems = self.problems().map(|problem| {
            json!({
                "rule": problem.rule,
                "error": problem.is_error,
                "message": problem.message,
                "help": problem.help,
                "place": { "file": problem.place.file, "line": problem.place.line },
            })
        });
        let problems: Vec<_> = problems.collect();
        let holds = self.groups.iter().all(|group| group.checked.holds());
        let value = json!({
            "holds": holds,
            "violations": violations,
            "problems": problems,
            "excepted": excepted,
        });
        json_text(&value)
    }

    pub(super) fn sarif(&self) -> String {
        let of =
            |group: &Group, violation: &RuleViolation, suppressed: Option<String>| SarifFinding {
                rule: violation.rule.id.clone(),
                level: match violation.rule.severity {
                    FindingSeverity::High => SarifLevel::Error,
                    FindingSeverity::Medium => SarifLevel::Warning,
                    FindingSeverity::Low | FindingSeverity::Info => SarifLevel::Note,
                },
                message: message(violation),
                help: match violation.rule.why.as_str() {
                    "" => "correct the policy of these routes, or except them by name".to_owned(),
                    why => why.to_owned(),
                },
                location: group.line_of(violation),
                routes: violation.routes.clone(),
                suppressed,
            };
        let violations =
            self.violations.iter().map(|(group, violation)| of(group, violation, None));
        let excepted = self.groups.iter().flat_map(|group| {
            group.checked.excepted.iter().map(move |(violation, exception)| {
                of(
                    group,
                    violation,
                    Some(format!("{}: {}", exception.line.who, exception.line.why)),
                )
            })
        });
        let problems = self.problems().map(|problem| SarifFinding {
            rule: problem.rule.clone(),
            level: if problem.is_error { SarifLevel::Error } else { SarifLevel::Note },
            message: problem.message.clone(),
            help: problem.help.clone(),
            location: Some(SarifLocation {
                file: below_repository(&problem.place.file),
                line: problem.place.line,
            }),
            routes: Vec::new(),
            suppressed: None,
        });
        sarif::render(&violations.chain(excepted).chain(problems).collect::<Vec<_>>())
    }
}

/// What was found, in one line.
fn message(violation: &RuleViolation) -> String {
    let RuleViolation { rule, about, routes, witness, .. } = violation;
    let example = witness.iter().map(|witness| format!("; for example {witness}"));
    format!("{}: {about}, at {}{}", rule.severity, routes.join("; "), example.collect::<String>())
}

/// The path of a file from the root of its repository.
fn below_repository(file: &str) -> String {
    let path = Path::new(file).canonicalize().ok();
    let below = path.as_deref().and_then(|path| path.strip_prefix(repository_of(path)?).ok());
    below.map_or_else(|| file.to_owned(), |below| below.display().to_string())
}

fn value(group: &Group, violation: &RuleViolation) -> Value {
    let line = group.line_of(violation);
    let RuleViolation { rule, routes, facet, about, witness, .. } = violation;
    json!({
        "policy": group.input(violation).map(|input| &input.name),
        "rule": rule.id,
        "severity": rule.severity,
        "error": violation.is_error(),
        "about": about,
        "why": rule.why,
        "routes": routes,
        "facet": facet,
        "witness": witness.as_ref().map(|witness| json!({
            "request": witness.to_string(),
            "credentials": witness.credentials,
            "curl": group.curl(violation),
        })),
        "line": line.map(|line| json!({ "file": line.file, "line": line.line })),
        "place": { "file": rule.place.file, "line": rule.place.line },
    })
}
