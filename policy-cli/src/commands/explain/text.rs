//! An explanation as text.

use std::fmt::Write as _;

use http::Request;
use policy_manifest::{
    Explanation, FacetSource, LeftCondition, Unsent,
    engine::{Decision, Outcome, Verdict},
};

use crate::{
    escape::printable,
    output::{BOLD, DIM},
};

pub(super) fn render(request: &Request<()>, explanation: &Explanation) -> String {
    let mut text = String::new();
    let decision = &explanation.decision;
    let target = printable(&request.uri().to_string());
    let (method, outcome) = (printable(request.method().as_str()), outcome(decision));
    match explanation.unsent {
        None => {
            let _ = writeln!(text, "{BOLD}{method} {target} {outcome}{BOLD:#}");
        }
        Some(unsent) => {
            let _ = writeln!(text, "{BOLD}{method} {target}{BOLD:#}");
            let _ = writeln!(text, "{BOLD}in a browser: {}{BOLD:#}", reason(unsent));
            if let Unsent::PreflightRefused(refusal) = unsent {
                let _ = writeln!(text, "{}", refusal.title());
            }
            let _ = writeln!(text, "{BOLD}sent by a program: {outcome}{BOLD:#}");
        }
    }
    if let Some(refusal) = decision.refusal() {
        let _ = writeln!(text, "{}", refusal.title());
    }
    match &explanation.route {
        Some((path, methods)) => {
            let methods =
                if methods.is_empty() { "every method".to_owned() } else { methods.join(",") };
            let _ = writeln!(text, "by the route {} {}", printable(&methods), printable(path));
        }
        None => text += "by no route\n",
    }
    if let Some(list) = &decision.if_listed {
        let _ = writeln!(text, "granted if the list `{}` names the origin", printable(list));
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
    text += &objects(explanation);
    if let Some(outcomes) = &explanation.outcomes {
        text += "\nthe route can refuse a request with\n";
        for (status, codes) in outcomes.by_status() {
            let codes: Vec<_> = codes.iter().map(|code| code.unwrap_or("no code")).collect();
            let _ = writeln!(text, "  {DIM}{status} {}{DIM:#}", printable(&codes.join(", ")));
        }
        if outcomes.is_open {
            text += "  and with what it does not declare\n";
        }
    }
    if let Some(page) = explanation.page {
        let _ = writeln!(text, "\nthe page sees: {page}");
    }
    let in_browser = if explanation.unsent.is_some() { " in a browser" } else { "" };
    if let Some(nearest) = &explanation.nearest {
        let _ = writeln!(text, "\nto be let through{in_browser}, the request has to");
        for step in &nearest.steps {
            let _ = writeln!(text, "  - {}", printable(step));
        }
    }
    if let Some(edit) = &explanation.edit {
        let source = edit.source.as_ref().map(|source| format!(", at {}", place(source)));
        let _ = writeln!(
            text,
            "\nthe smallest edit that lets it through{in_browser}{}",
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

/// The rules of the objects, which only the objects can decide.
fn objects(explanation: &Explanation) -> String {
    if explanation.objects.is_empty() {
        return String::new();
    }
    let mut text = "\nthe handler gets its objects if they satisfy\n".to_owned();
    for found in &explanation.objects {
        let (rule, condition) = (printable(&found.rule), printable(&found.condition));
        let _ = writeln!(text, "  {rule}: {condition}");
        let left = match &found.left {
            LeftCondition::Holds => "every object does for this caller".to_owned(),
            LeftCondition::Fails => "no object does for this caller".to_owned(),
            LeftCondition::Object(left) if *left == found.condition => String::new(),
            LeftCondition::Object(left) => format!("for this caller: {}", printable(left)),
        };
        let engine = found.engine.as_ref().map(|name| {
            format!("the engine `{}` decides where the rest does not", printable(name))
        });
        for line in [left].into_iter().filter(|left| !left.is_empty()).chain(engine) {
            let _ = writeln!(text, "    {DIM}{line}{DIM:#}");
        }
    }
    text
}

/// The decision about the request itself.
fn outcome(decision: &Decision) -> String {
    match decision.outcome {
        Outcome::Reached => "is let through".to_owned(),
        Outcome::PreflightGranted => "is a preflight that is granted".to_owned(),
        Outcome::Automatic => {
            format!("is answered by the server itself: {}", decision.status.unwrap_or_default())
        }
        Outcome::Refused(refusal) => {
            format!("is refused: {} {}", refusal.status(), refusal.code())
        }
    }
}

/// Why a browser does not send the request.
fn reason(unsent: Unsent) -> String {
    let lacking = |what: &str| format!("is not sent, since the answer to its preflight {what}");
    match unsent {
        Unsent::PreflightRefused(refusal) => {
            format!("its preflight is refused: {} {}", refusal.status(), refusal.code())
        }
        Unsent::CookiesNotAllowed => lacking("allows no cookies"),
        Unsent::MethodNotListed => lacking("does not list its method"),
        Unsent::HeaderNotListed => lacking("does not list one of its headers"),
    }
}

fn place(source: &FacetSource) -> String {
    format!("{}:{} ({})", printable(&source.file), source.line, source.level.name())
}
