//! A comparison in Markdown, for a pull request.

use policy_manifest::{
    Change,
    diff::{Axis, Case, DiffFinding},
};

use super::{Compared, witness};
use crate::{
    escape::printable,
    markdown::{code, words},
};

pub(super) fn render(compared: &Compared) -> String {
    let mut text = format!(
        "## Policy: {} to {}\n\n{}.\n",
        code(&compared.old.name),
        code(&compared.new.name),
        words(&compared.summary().join(", "))
    );
    for axis in Axis::ALL {
        let findings: Vec<&DiffFinding> = compared.findings_on(axis).collect();
        if findings.is_empty() {
            continue;
        }
        text += match axis {
            Axis::Widened => "\n### Access is widened\n",
            Axis::Narrowed => "\n### Clients may break\n",
        };
        findings.iter().for_each(|finding| add_finding(&mut text, compared, finding));
    }
    if !compared.diff.changes.is_empty() {
        text += "\n### Other changes\n\n";
        let lines = compared.diff.changes.iter().map(|change| item(compared, change));
        lines.for_each(|line| text += &line);
    }
    text
}

fn add_finding(text: &mut String, compared: &Compared, finding: &DiffFinding) {
    let places: Vec<_> = finding.places.iter().map(|place| code(&place.words())).collect();
    *text += &format!("\n**{}** {}\n\n", finding.severity, places.join(", "));
    for case in &finding.cases {
        add_case(text, compared, finding.axis, case);
    }
    if !finding.changes.is_empty() {
        *text += "\nBecause of\n\n";
        finding.changes.iter().for_each(|change| *text += &item(compared, change));
    }
}

fn add_case(text: &mut String, compared: &Compared, axis: Axis, case: &Case) {
    let can = match axis {
        Axis::Widened => "can",
        Axis::Narrowed => "can no longer",
    };
    let callers = match case.callers.as_slice() {
        [] => String::new(),
        callers => format!(", with {}", phrase(&callers.join("; or "))),
    };
    let who = phrase(&case.senders.words());
    let what = phrase(&case.gains.words().join(", "));
    *text += &format!("- {who} {can} {what}{callers}\n");
    let witness = &case.witness;
    let own = compared.new.manifest.app.public_origin.as_deref();
    let request = witness.moved.as_ref().unwrap_or(&witness.request);
    let lines = [
        format!("// {}", witness::runner(case)),
        witness::fetch(case, own),
        format!("// {}", witness::curl(request, own)),
        format!(
            "// before: {}; after: {}",
            witness::outcome(&witness.before),
            witness::outcome(&witness.after)
        ),
    ];
    // No line ends the block: the fence is longer than any run of backticks in a line.
    let lines = lines.map(|line| format!("  {}\n", printable(&line).replace('`', "\\u0060")));
    *text += &format!("\n  ```js\n{}  ```\n", lines.concat());
}

/// Words with names between backticks, which are code.
fn phrase(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 0 { words(part) } else { code(part) }).collect()
}

fn item(compared: &Compared, change: &Change) -> String {
    let line = compared.source(change).map(|source| {
        format!(" ({}, {})", code(&format!("{}:{}", source.file, source.line)), source.level.name())
    });
    format!("- {}{}\n", phrase(&change.to_string()), line.unwrap_or_default())
}
