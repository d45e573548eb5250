//! A comparison as text.

use std::fmt::Write as _;

use policy_manifest::{
    Change,
    diff::{Axis, Case, DiffFinding},
};

use super::{Compared, witness};
use crate::{
    escape::printable,
    output::{BOLD, DIM},
};

/// More places of one finding are counted.
const PLACES: usize = 8;

pub(super) fn render(compared: &Compared) -> String {
    let mut text = String::new();
    let names = format!("{} -> {}", compared.old.name, compared.new.name);
    let _ = writeln!(text, "{BOLD}{}{BOLD:#}", printable(&names));
    let _ = writeln!(text, "{}", compared.summary().join(", "));
    for finding in &compared.diff.findings {
        add_finding(&mut text, compared, finding);
    }
    if !compared.diff.changes.is_empty() {
        let _ = writeln!(text, "\n{BOLD}OTHER CHANGES{BOLD:#}");
        for change in &compared.diff.changes {
            let _ = writeln!(text, "  {}", with_line(compared, change));
        }
    }
    text
}

fn add_finding(text: &mut String, compared: &Compared, finding: &DiffFinding) {
    let title = match finding.axis {
        Axis::Widened => "WIDENED",
        Axis::Narrowed => "NARROWED",
    };
    let _ = writeln!(text, "\n{BOLD}{title} {}{BOLD:#}", finding.severity);
    for place in finding.places.iter().take(PLACES) {
        let _ = writeln!(text, "  {BOLD}{}{BOLD:#}", printable(&place.words()));
    }
    if let Some(more) = finding.places.len().checked_sub(PLACES).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and {more} more");
    }
    for case in &finding.cases {
        add_case(text, compared, finding.axis, case);
    }
    for change in &finding.changes {
        let _ = writeln!(text, "  because {}", with_line(compared, change));
    }
}

fn add_case(text: &mut String, compared: &Compared, axis: Axis, case: &Case) {
    let can = match axis {
        Axis::Widened => "can",
        Axis::Narrowed => "can no longer",
    };
    let who = printable(&case.senders.words());
    let _ = writeln!(text, "  - {who} {can} {}", printable(&case.gains.words().join(", ")));
    if !case.callers.is_empty() {
        let _ = writeln!(text, "      with {}", printable(&case.callers.join("; or ")));
    }
    let witness = &case.witness;
    let own = compared.new.manifest.app.public_origin.as_deref();
    let request = witness.moved.as_ref().unwrap_or(&witness.request);
    let runner = printable(&witness::runner(case));
    let _ = writeln!(text, "      {runner}: {}", printable(&witness::fetch(case, own)));
    let _ = writeln!(text, "      {DIM}{}{DIM:#}", printable(&witness::curl(request, own)));
    let (before, after) = (witness::outcome(&witness.before), witness::outcome(&witness.after));
    let _ = writeln!(text, "      before: {before}; after: {after}");
}

/// A change, and the line that decides it.
fn with_line(compared: &Compared, change: &Change) -> String {
    let line = compared.source(change).map(|source| {
        format!(" ({}:{}, {})", printable(&source.file), source.line, source.level.name())
    });
    format!("{}{}", printable(&change.to_string()), line.unwrap_or_default())
}
