//! The table in Markdown (GitHub's).

use std::fmt::Display;

use policy_manifest::facet::{Cell, Column, ORIGINS};

use super::view::{DECLARED, HeaderSet, PATH, Section, View};
use crate::markdown::{code, words};

pub(super) fn render(view: &View) -> String {
    let mut text = format!("## {}\n", words(&view.title));
    let mut facts: Vec<(&str, String)> = Vec::new();
    if !view.filters.is_empty() {
        facts
            .push(("Only", view.filters.iter().map(|it| words(it)).collect::<Vec<_>>().join(", ")));
    }
    facts.extend(view.app.iter().map(|(name, cell)| (*name, phrases(cell, ", "))));
    list(&mut text, &facts);
    for Section { title, facts } in &view.sections {
        text += &format!("\n{title}:\n");
        let facts: Vec<_> =
            facts.iter().map(|(name, cell)| (words(name), phrases(cell, ", "))).collect();
        list(&mut text, &facts);
    }
    for (title, facts) in [("Every route here", &view.common), ("Usual here", &view.usual)] {
        if !facts.is_empty() {
            text += &format!("\n{title}:\n");
            let facts: Vec<_> = facts
                .iter()
                .map(|(column, cell)| (column.name, table_cell(cell, *column)))
                .collect();
            list(&mut text, &facts);
        }
    }
    if !view.rows.is_empty() {
        let names: Vec<_> = view.columns.iter().map(|column| column.name).collect();
        text += &format!("\n| {} |\n", names.join(" | "));
        text += &format!("|{}\n", " --- |".repeat(names.len()));
        for row in &view.rows {
            let cells = row.iter().zip(&view.columns);
            let cells: Vec<_> = cells.map(|(cell, column)| table_cell(cell, *column)).collect();
            text += &format!("| {} |\n", cells.join(" | "));
        }
    }
    view.headers.iter().for_each(|set| headers(&mut text, set));
    text
}

fn list(text: &mut String, facts: &[(impl Display, String)]) {
    if !facts.is_empty() {
        text.push('\n');
    }
    facts.iter().for_each(|(name, value)| *text += &format!("- {name}: {value}\n"));
}

fn headers(text: &mut String, HeaderSet { name, fields }: &HeaderSet) {
    for (place, fields) in [("on every response", &fields.every), ("on pages", &fields.pages)] {
        if !fields.is_empty() {
            *text += &format!("\nHeaders, {}, {place}:\n\n", words(name));
            fields.iter().for_each(|(name, value)| {
                *text += &format!("- {}\n", code(&format!("{name}: {value}")));
            });
        }
    }
}

fn table_cell(cell: &Cell, column: Column) -> String {
    match column {
        _ if cell.items.is_empty() => cell.absent().to_owned(),
        PATH => match cell.items.split_first() {
            Some((path, [])) => code(path),
            Some((path, notes)) => {
                let notes: Vec<_> = notes.iter().map(|note| words(note)).collect();
                format!("{} {}", code(path), notes.join(" "))
            }
            None => String::new(),
        },
        ORIGINS | DECLARED => phrases(cell, "<br>"),
        _ => phrases(cell, ", "),
    }
}

/// The phrases of a cell; words that have signs are code.
fn phrases(cell: &Cell, separator: &str) -> String {
    let word = |word: &str| if words(word) == word { word.to_owned() } else { code(word) };
    let phrase = |item: &String| item.split(' ').map(word).collect::<Vec<_>>().join(" ");
    cell.items.iter().map(phrase).collect::<Vec<_>>().join(separator)
}
