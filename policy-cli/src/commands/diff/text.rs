//! A comparison as text.

use std::fmt::Write as _;

use policy_manifest::diff::{Axis, Case, PathMethods};

use super::{
    Compared,
    causes::{Alike, Cause},
    witness,
};
use crate::{
    escape::printable,
    output::{BOLD, DIM},
    shown::{first, more},
};

/// A finding lists this many places, and counts the rest.
pub(super) const PLACES: usize = 8;

pub(super) fn render(compared: &Compared, most: usize) -> String {
    let mut text = String::new();
    let names = format!("{} -> {}", compared.old.name, compared.new.name);
    let _ = writeln!(text, "{BOLD}{}{BOLD:#}", printable(&names));
    let _ = writeln!(text, "{}", compared.summary().join(", "));
    for axis in Axis::ALL {
        let causes = compared.causes(axis);
        let (head, more) = first(&causes, most);
        head.iter().for_each(|cause| add_cause(&mut text, compared, cause));
        if more > 0 {
            let _ = writeln!(text, "\nand {more} more causes, of which none is worse");
        }
    }
    let changes = compared.alike(&compared.diff.changes).into_iter();
    let (objects, others): (Vec<_>, Vec<_>) = changes.partition(Alike::is_of_objects);
    for (title, changes) in [("RIGHTS ON OBJECTS", objects), ("OTHER CHANGES", others)] {
        if changes.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{BOLD}{title}{BOLD:#}");
        let (head, more) = first(&changes, most);
        for alike in head {
            let _ = writeln!(text, "  {}", with_line(compared, alike));
            if let Some(witness) = alike.witness() {
                let _ = writeln!(text, "      {DIM}{}{DIM:#}", printable(&witness));
            }
        }
        if more > 0 {
            let _ = writeln!(text, "  and {more} more");
        }
    }
    text
}

fn add_cause(text: &mut String, compared: &Compared, cause: &Cause<'_>) {
    let finding = cause.worst;
    let title = match finding.axis {
        Axis::Widened => "WIDENED",
        Axis::Narrowed => "NARROWED",
    };
    let _ = writeln!(text, "\n{BOLD}{title} {}{BOLD:#}", finding.severity);
    add_places(text, finding.places.iter());
    for case in &finding.cases {
        add_case(text, compared, finding.axis, case);
    }
    for alike in compared.alike(&finding.changes) {
        let _ = writeln!(text, "  because {}", with_line(compared, &alike));
    }
    if let Some(words) = cause.words() {
        let _ = writeln!(text, "  {words}");
        add_places(text, cause.elsewhere.iter().copied());
    }
}

fn add_places<'a>(text: &mut String, places: impl ExactSizeIterator<Item = &'a PathMethods>) {
    let more = more(places.len(), PLACES);
    for place in places.take(PLACES) {
        let _ = writeln!(text, "  {BOLD}{}{BOLD:#}", printable(&place.words()));
    }
    if let Some(more) = more {
        let _ = writeln!(text, "  {more}");
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
    let _ = writeln!(text, "      before: {}; after: {}", printable(&before), printable(&after));
}

/// Changes that are alike, and the line that decides them.
fn with_line(compared: &Compared, alike: &Alike<'_>) -> String {
    let line = compared.source(alike.first).map(|source| {
        format!(" ({}:{}, {})", printable(&source.file), source.line, source.level.name())
    });
    let change = printable(&alike.first.to_string()).to_string();
    format!("{change}{}{}", line.unwrap_or_default(), alike.words())
}
