//! The findings in many services, the worst first.

use std::{cmp::Reverse, fmt::Write as _};

use policy_manifest::Finding;
use serde_json::{Value, json};

use super::report::Report;
use crate::{
    escape::{json_text, printable},
    markdown::{code, words},
    output::{BOLD, DIM},
    sarif,
    shown::{self, more},
};

/// Texts list this many services with findings, and count the rest.
const SHOWN_SERVICES: usize = 40;

/// Texts list this many findings of a service, and count the rest.
const SHOWN_FINDINGS: usize = 5;

/// The reports of all services.
#[derive(Debug)]
pub(super) struct FleetReport {
    /// The worst first.
    reports: Vec<Report>,
}

impl FleetReport {
    pub(super) fn new(mut reports: Vec<Report>) -> Self {
        reports.sort_by_cached_key(|report| {
            let findings = &report.linted.findings;
            let worst = findings.iter().map(Finding::severity).max();
            let name = report.input.name.clone();
            (Reverse((report.fails > 0, worst, report.fails, findings.len())), name)
        });
        Self { reports }
    }

    /// How many findings fail.
    pub(super) fn fails(&self) -> usize {
        self.reports.iter().map(|report| report.fails).sum()
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for report in self.shown_reports() {
            let name = printable(&report.input.name);
            let _ = writeln!(text, "{BOLD}{name}{BOLD:#}: {}", report.summary());
            let findings = &report.linted.findings;
            for finding in findings.iter().take(SHOWN_FINDINGS) {
                let (lint, severity) = (finding.lint, finding.severity());
                let (message, code) = (lint.message(), lint.code());
                let _ = writeln!(text, "  {severity}: {message} {DIM}({code}){DIM:#}");
                let _ = writeln!(
                    text,
                    "    {DIM}at{DIM:#} {}",
                    printable(&shown::routes(finding.routes.iter()))
                );
            }
            if let Some(more) = more(findings.len(), SHOWN_FINDINGS) {
                let _ = writeln!(text, "  {more}");
            }
            text.push('\n');
        }
        text + &self.rest("\n") + &self.summary() + "\n"
    }

    pub(super) fn markdown(&self) -> String {
        let mut text = format!("## Lints\n\n{}\n", words(&self.summary()));
        for report in self.shown_reports() {
            let (name, summary) = (words(&report.input.name), words(&report.summary()));
            let _ = write!(text, "\n### {name}\n\n{summary}\n\n");
            let findings = &report.linted.findings;
            for finding in findings.iter().take(SHOWN_FINDINGS) {
                let (lint, severity) = (finding.lint, finding.severity());
                let (message, of) = (words(lint.message()), code(lint.code()));
                let places = code(&shown::routes(finding.routes.iter()));
                let _ = writeln!(text, "- {severity}: {message} ({of}) at {places}");
            }
            if let Some(more) = more(findings.len(), SHOWN_FINDINGS) {
                let _ = writeln!(text, "- {more}");
            }
        }
        let rest = self.rest("");
        text + if rest.is_empty() { "" } else { "\n" } + &rest
    }

    pub(super) fn json(&self) -> String {
        let services = self.reports.iter().map(|report| {
            let mut value = report.value();
            if let Value::Object(fields) = &mut value {
                fields.insert("name".to_owned(), json!(report.input.name));
            }
            value
        });
        let services: Vec<_> = services.collect();
        let value = json!({ "version": 1, "services": services, "fails": self.fails() });
        json_text(&value)
    }

    pub(super) fn sarif(&self, fails: impl Fn(&Finding) -> bool) -> String {
        let findings = self.reports.iter().flat_map(|report| {
            let mut findings = report.sarif_findings(&fails);
            let name = &report.input.name;
            findings.iter_mut().for_each(|it| it.message = format!("{name}: {}", it.message));
            findings
        });
        sarif::render(&findings.collect::<Vec<_>>())
    }

    /// The reports with findings that are shown in texts.
    fn shown_reports(&self) -> impl Iterator<Item = &Report> {
        self.with_findings().take(SHOWN_SERVICES)
    }

    /// How many services with findings are not shown.
    fn rest(&self, after: &str) -> String {
        let all = self.with_findings().count();
        let rest = more(all, SHOWN_SERVICES).map(|more| format!("{more} services with findings\n"));
        rest.map(|rest| rest + after).unwrap_or_default()
    }

    fn with_findings(&self) -> impl Iterator<Item = &Report> {
        self.reports.iter().filter(|report| !report.linted.findings.is_empty())
    }

    fn summary(&self) -> String {
        let findings = self.reports.iter().map(|report| report.linted.findings.len()).sum();
        let suppressed: usize =
            self.reports.iter().map(|report| report.linted.suppressed.len()).sum();
        let services = shown::count(self.reports.len(), "service");
        let mut summary = match findings {
            0 => format!("{services}: no policy has oddities"),
            all => format!(
                "{services}: {} in {} of them, of which {} fail",
                shown::count(all, "finding"),
                self.with_findings().count(),
                self.fails()
            ),
        };
        if suppressed > 0 {
            summary += &format!("; {suppressed} suppressed");
        }
        summary
    }
}
