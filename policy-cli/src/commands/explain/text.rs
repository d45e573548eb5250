//! An explanation as text.

use std::fmt::Write as _;

use http::Request;
use policy_manifest::{
    Explanation, FacetSource,
    engine::{Outcome, Verdict},
};

use crate::{
    escape::printable,
    output::{BOLD, DIM},
};

pub(super) fn render(request: &Request<()>, explanation: &Explanation) -> String {
    let mut text = String::new();
    let decision = &explanation.decision;
    let target = printable(&request.uri().to_string());
    let outcome = match decision.outcome {
        Outcome::Reached => "is let through".to_owned(),
        Outcome::PreflightGranted => "is a preflight that is granted".to_owned(),
        Outcome::Automatic => {
            format!("is answered by the server itself: {}", decision.status.unwrap_or_default())
        }
        Outcome::Refused(refusal) => {
            format!("is refused: {} {}", refusal.status(), refusal.code())
        }
    };
    let _ =
        writeln!(text, "{BOLD}{} {target} {outcome}{BOLD:#}", printable(request.method().as_str()));
    if let Some(refusal) = decision.refusal() {
        let preflight = if explanation.is_of_preflight { ", at its preflight" } else { "" };
        let _ = writeln!(text, "{}{preflight}", refusal.title());
    }
    match &explanation.route {
        Some((path, methods)) => {
            let methods =
                if methods.is_empty() { "every method".to_owned() } else { methods.join(",") };
            let _ = writeln!(text, "by the route {} {}", printable(&methods), printable(path));
        }
        None => text += "by no route\n",
    }
    text.push('\n');
    for finding in &explanation.gates {
        let found = match &finding.verdict {
            Some(Verdict::Passed) => "passed".to_owned(),
            Some(Verdict::NotAsked) => "asks nothing here".to_owned(),
            Some(Verdict::Ended) => "ends here".to_owned(),
            Some(Verdict::Refused(refusal)) => format!("refuses: {}", refusal.code()),
            None => "not reached".to_owned(),
        };
        let place = finding.source.as_ref().map(place).unwrap_or_default();
        let is_decisive = matches!(finding.verdict, Some(Verdict::Refused(_) | Verdict::Ended));
        let style = match (is_decisive, &finding.verdict) {
            (true, _) => BOLD,
            (false, Some(Verdict::Passed)) => anstyle::Style::new(),
            _ => DIM,
        };
        let line = format!("{:<16}{found:<36}{place}", finding.gate.name());
        let _ = writeln!(text, "  {style}{}{style:#}", line.trim_end());
    }
    if let Some(page) = explanation.page {
        let _ = writeln!(text, "\nthe page sees: {page}");
    }
    if let Some(nearest) = &explanation.nearest {
        text += "\nto be let through, the request has to\n";
        for step in &nearest.steps {
            let _ = writeln!(text, "  - {}", printable(step));
        }
    }
    if let Some(edit) = &explanation.edit {
        let source = edit.source.as_ref().map(|source| format!(", at {}", place(source)));
        let _ = writeln!(
            text,
            "\nthe smallest edit that lets it through{}",
            source.unwrap_or_default()
        );
        for step in &edit.steps {
            let _ = writeln!(text, "  - {}", printable(step));
        }
        text += "and all effects of this edit\n";
        for change in &edit.changes {
            let _ = writeln!(text, "  - {}", printable(&change.to_string()));
        }
    }
    text
}

fn place(source: &FacetSource) -> String {
    format!("{}:{} ({})", printable(&source.file), source.line, source.level.name())
}
