//! A comparison as text, Markdown and JSON.

use serde_json::{Value, json};

use super::{
    Compared, Format,
    compare::{Change, Impact},
};
use crate::{
    escape::{json_text, printable},
    markdown::{code, with_code, words},
    output::BOLD,
};

/// The longest words of a change in text and Markdown, in characters.
const LONGEST: usize = 400;

pub(super) fn render(compared: &Compared, format: Format) -> String {
    match format {
        Format::Text => text(compared),
        Format::Markdown => markdown(compared),
        Format::Json => json_text(&value(compared)),
    }
}

fn text(compared: &Compared) -> String {
    let names = printable(&format!("{} -> {}", compared.old, compared.new));
    let mut text = format!("{BOLD}{names}{BOLD:#}\n{}\n", compared.summary());
    for impact in Impact::ALL {
        let mut operation = None;
        for change in compared.changes_with(impact) {
            if operation.is_none() {
                text += &format!("\n{BOLD}{}{BOLD:#}\n", impact.name().to_uppercase());
            }
            if operation != Some(place(change)) {
                text += &format!("  {BOLD}{}{BOLD:#}\n", printable(place(change)));
                operation = Some(place(change));
            }
            text += &format!("    {}\n", printable(&line(change)));
        }
    }
    text
}

fn markdown(compared: &Compared) -> String {
    let (old, new) = (code(&compared.old), code(&compared.new));
    let mut text = format!("## OpenAPI: {old} to {new}\n\n{}.\n", words(&compared.summary()));
    for impact in Impact::ALL {
        let title = match impact {
            Impact::Breaks => "Clients may break",
            Impact::Adds => "Added",
            Impact::Words => "Words",
        };
        let lines = compared
            .changes_with(impact)
            .map(|change| format!("- {}: {}\n", code(place(change)), with_code(&line(change))));
        let lines: String = lines.collect();
        if !lines.is_empty() {
            text += &format!("\n### {title}\n\n{lines}");
        }
    }
    text
}

fn value(compared: &Compared) -> Value {
    let changes = compared.changes.iter().map(|change| {
        let Change { impact, operation, part, words } = change;
        json!({ "impact": impact.name(), "operation": operation, "part": part, "words": words })
    });
    json!({
        "version": 1,
        "old": compared.old,
        "new": compared.new,
        "breaks": compared.changes_with(Impact::Breaks).next().is_some(),
        "changes": changes.collect::<Vec<_>>(),
    })
}

fn place(change: &Change) -> &str {
    if change.operation.is_empty() { "document" } else { &change.operation }
}

/// The part and what happened to it, cut if it quotes much.
fn line(change: &Change) -> String {
    let line = match &*change.part {
        "" => change.words.clone(),
        part => format!("{part}: {}", change.words),
    };
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}..", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
