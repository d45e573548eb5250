//! A comparison in Markdown, for a pull request.

use policy_manifest::diff::{Axis, Case, PathMethods};

use super::{
    Compared,
    causes::{Alike, Cause},
    text::PLACES,
    witness,
};
use crate::{
    escape::printable,
    markdown::{code, with_code, words},
    shown::{first, more},
};

pub(super) fn render(compared: &Compared, most: usize) -> String {
    let mut text = format!(
        "## Policy: {} to {}\n\n{}.\n",
        code(&compared.old.name),
        code(&compared.new.name),
        words(&compared.summary().join(", "))
    );
    for axis in Axis::ALL {
        let causes = compared.causes(axis);
        let (head, more) = first(&causes, most);
        if head.is_empty() && more == 0 {
            continue;
        }
        text += match axis {
            Axis::Widened => "\n### Access is widened\n",
            Axis::Narrowed => "\n### Clients may break\n",
        };
        head.iter().for_each(|cause| add_cause(&mut text, compared, cause));
        if more > 0 {
            text += &format!("\nAnd {more} more causes, of which none is worse.\n");
        }
    }
    let changes = compared.alike(&compared.diff.changes).into_iter();
    let (objects, others): (Vec<_>, Vec<_>) = changes.partition(Alike::is_of_objects);
    for (title, changes) in [("Rights on objects", objects), ("Other changes", others)] {
        if changes.is_empty() {
            continue;
        }
        text += &format!("\n### {title}\n\n");
        let (head, more) = first(&changes, most);
        for alike in head {
            text += &item(compared, alike);
            let witness = alike.witness().map(|words| format!("  - {}\n", with_code(&words)));
            text += &witness.unwrap_or_default();
        }
        if more > 0 {
            text += &format!("- and {more} more\n");
        }
    }
    text
}

fn add_cause(text: &mut String, compared: &Compared, cause: &Cause<'_>) {
    let finding = cause.worst;
    let places = in_line(finding.places.iter());
    *text += &format!("\n**{}** {places}\n\n", finding.severity);
    for case in &finding.cases {
        add_case(text, compared, finding.axis, case);
    }
    if !finding.changes.is_empty() {
        *text += "\nBecause of\n\n";
        let changes = compared.alike(&finding.changes);
        changes.iter().for_each(|alike| *text += &item(compared, alike));
    }
    if let Some(more) = cause.words() {
        *text += &format!("\n{more} {}\n", in_line(cause.elsewhere.iter().copied()));
    }
}

/// The first places, and the number of the others.
fn in_line<'a>(places: impl ExactSizeIterator<Item = &'a PathMethods>) -> String {
    let more = more(places.len(), PLACES);
    places.take(PLACES).map(|place| code(&place.words())).chain(more).collect::<Vec<_>>().join(", ")
}

fn add_case(text: &mut String, compared: &Compared, axis: Axis, case: &Case) {
    let can = match axis {
        Axis::Widened => "can",
        Axis::Narrowed => "can no longer",
    };
    let callers = match case.callers.as_slice() {
        [] => String::new(),
        callers => format!(", with {}", with_code(&callers.join("; or "))),
    };
    let who = with_code(&case.senders.words());
    let what = with_code(&case.gains.words().join(", "));
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
    // No line ends the block, since backticks in lines are escaped.
    let lines = lines.map(|line| format!("  {}\n", printable(&line).replace('`', "\\u0060")));
    *text += &format!("\n  ```js\n{}  ```\n", lines.concat());
}

fn item(compared: &Compared, alike: &Alike<'_>) -> String {
    let line = compared.source(alike.first).map(|source| {
        format!(" ({}, {})", code(&format!("{}:{}", source.file, source.line)), source.level.name())
    });
    let change = with_code(&alike.first.to_string());
    format!("- {change}{}{}\n", line.unwrap_or_default(), alike.words())
}
