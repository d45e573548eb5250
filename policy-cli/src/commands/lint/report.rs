//! The findings of lints, in each format.

use std::fmt::Write as _;

use policy_core::Confidence;
use policy_manifest::{
    Date, Finding, FindingSeverity, LintReport, Suppression, engine::Engine, lint,
};
use serde_json::{Value, json};

use crate::{
    escape::{json_text, printable},
    failure::Failure,
    input::Input,
    markdown::{code, with_code, words},
    output::{BOLD, DIM},
    sarif::{self, SarifFinding, SarifLevel, SarifLocation},
    shown,
};

/// A policy, and what is odd about it.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) input: Input,
    pub(super) linted: LintReport,
    /// How many findings fail.
    pub(super) fails: usize,
}

impl Report {
    pub(super) fn new(
        input: Input,
        today: Date,
        fails: impl Fn(&Finding) -> bool,
    ) -> Result<Self, Failure> {
        // An invalid policy has no findings.
        Engine::new(&input.manifest).map_err(|error| {
            Failure::new(format!("the manifest of `{}` breaks a rule: {error}", input.name))
                .help("write it again with `cargo test`")
        })?;
        let signed = input.signed.as_ref().map_err(Failure::clone)?;
        let linted = lint(&input.manifest, &signed.suppressed, today);
        let fails = linted.findings.iter().filter(|finding| fails(finding)).count();
        Ok(Self { input, linted, fails })
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for finding in &self.linted.findings {
            let (lint, severity) = (finding.lint, finding.severity());
            let _ = writeln!(
                text,
                "{BOLD}{severity}{BOLD:#}: {} {DIM}({}){DIM:#}",
                lint.message(),
                lint.code()
            );
            for (name, value) in self.facts(finding) {
                let _ = writeln!(text, "  {DIM}{name:<8}{DIM:#} {}", printable(&value));
            }
            text.push('\n');
        }
        text + &self.summary() + "\n"
    }

    pub(super) fn markdown(&self) -> String {
        let (name, summary) = (words(&self.input.name), words(&self.summary()));
        let mut text = format!("## {name}: lints\n\n{summary}\n");
        for finding in &self.linted.findings {
            let (lint, severity) = (finding.lint, finding.severity());
            let code_of = code(lint.code());
            let _ = write!(text, "\n### {severity}: {} ({code_of})\n\n", words(lint.message()));
            for (name, value) in self.facts(finding) {
                let value = match name {
                    "witness" | "line" | "leave" => code(&value),
                    _ => with_code(&value),
                };
                let _ = writeln!(text, "- {name}: {value}");
            }
        }
        text
    }

    /// The facts about a finding, in order.
    fn facts(&self, finding: &Finding) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        if !finding.about.is_empty() {
            facts.push(("about", finding.about.clone()));
        }
        facts.push(("at", shown::routes(finding.routes.iter())));
        facts.extend(finding.gain.map(|gain| ("gain", gain.to_string())));
        facts.extend(finding.witness.clone().map(|witness| ("witness", witness)));
        if finding.lint.confidence() == Confidence::Heuristic {
            facts.push(("sure", "no, it may be intended".to_owned()));
        }
        if let Some(place) = self.line_of(finding) {
            facts.push(("line", format!("{}:{}", place.file, place.line)));
        }
        facts.push(("help", finding.lint.help().to_owned()));
        if finding.is_error() {
            let line = Suppression::lines_for(finding).into_iter().next();
            facts.extend(line.map(|line| ("leave", line.to_string())));
        }
        facts
    }

    pub(super) fn summary(&self) -> String {
        let LintReport { findings, suppressed, .. } = &self.linted;
        let mut summary = match findings.len() {
            0 => "this policy has no oddities".to_owned(),
            all => format!("{}, of which {} fail", shown::count(all, "finding"), self.fails),
        };
        if !suppressed.is_empty() {
            summary += &format!("; {} suppressed", suppressed.len());
        }
        summary
    }

    pub(super) fn json(&self) -> String {
        json_text(&self.value())
    }

    pub(super) fn value(&self) -> Value {
        let LintReport { findings, suppressed, .. } = &self.linted;
        let findings: Vec<_> = findings.iter().map(|finding| self.finding(finding)).collect();
        let suppressed = suppressed.iter().map(|(finding, suppression)| {
            let mut value = self.finding(finding);
            if let Value::Object(fields) = &mut value {
                fields.insert("suppressed_by".to_owned(), json!(suppression));
            }
            value
        });
        let suppressed: Vec<_> = suppressed.collect();
        json!({ "findings": findings, "suppressed": suppressed, "fails": self.fails })
    }

    fn finding(&self, finding: &Finding) -> Value {
        let line = self.line_of(finding);
        json!({
            "lint": finding.lint.code(),
            "severity": finding.severity(),
            "sure": finding.lint.confidence() == Confidence::Sure,
            "error": finding.is_error(),
            "message": finding.lint.message(),
            "about": finding.about,
            "routes": finding.routes,
            "facet": finding.facet,
            "gain": finding.gain,
            "witness": finding.witness,
            "help": finding.lint.help(),
            "line": line.map(|line| json!({ "file": line.file, "line": line.line })),
        })
    }

    fn line_of(&self, finding: &Finding) -> Option<SarifLocation> {
        let source = self.input.sources.as_ref().and_then(|sources| finding.source(sources));
        self.input.line_of(source, finding.routes.iter().map(String::as_str))
    }

    pub(super) fn sarif(&self, fails: impl Fn(&Finding) -> bool) -> String {
        sarif::render(&self.sarif_findings(fails))
    }

    /// With a level of `error` for what fails.
    pub(super) fn sarif_findings(&self, fails: impl Fn(&Finding) -> bool) -> Vec<SarifFinding> {
        let of = |finding: &Finding, suppressed: Option<&Suppression>| SarifFinding {
            rule: finding.lint.code().to_owned(),
            level: match finding.severity() {
                _ if suppressed.is_none() && fails(finding) => SarifLevel::Error,
                FindingSeverity::High | FindingSeverity::Medium => SarifLevel::Warning,
                FindingSeverity::Low | FindingSeverity::Info => SarifLevel::Note,
            },
            message: message(finding),
            help: finding.lint.help().to_owned(),
            location: self.line_of(finding),
            routes: finding.routes.clone(),
            suppressed: suppressed.map(|line| format!("{}: {}", line.who, line.why)),
        };
        let findings = self.linted.findings.iter().map(|finding| of(finding, None));
        let suppressed =
            self.linted.suppressed.iter().map(|(finding, line)| of(finding, Some(line)));
        findings.chain(suppressed).collect()
    }
}

/// What was found, in one line.
fn message(finding: &Finding) -> String {
    let mut message = format!("{}: {}", finding.severity(), finding.lint.message());
    if !finding.about.is_empty() {
        message += &format!(" ({})", finding.about);
    }
    message += &format!(", at {}", finding.routes.join("; "));
    if let Some(gain) = finding.gain {
        message += &format!("; {gain}");
    }
    if let Some(witness) = &finding.witness {
        message += &format!("; for example {witness}");
    }
    message
}
