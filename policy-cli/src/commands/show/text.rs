//! The table for a terminal: side by side where the columns fit into its width, else one below the
//! other for each route.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr as _;

use super::{
    view::{Cell, Column, HeaderSet, Tone, View},
    wrap::wrapped,
};
use crate::{
    escape::printable,
    output::{BOLD, DIM},
};

/// Between columns.
const GAP: usize = 2;

/// No column needs more to be readable: a longer word is broken.
const WIDEST_WORD: usize = 24;

pub(super) fn render(view: &View, width: usize) -> String {
    let mut text = format!("{BOLD}{}{BOLD:#}\n", printable(&view.title));
    let mut facts = |facts: Vec<(&str, &Cell)>| {
        let names = facts.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        for (name, cell) in facts {
            fact(&mut text, 0, names, name, cell, width);
        }
    };
    let filters = Cell::list(view.filters.iter().cloned());
    if !view.filters.is_empty() {
        facts(vec![("Only", &filters)]);
    }
    facts(view.app.iter().map(|(name, cell)| (*name, cell)).collect());
    let sections =
        [("Every route here", &view.common), ("Where a route says nothing else", &view.usual)];
    let names = sections.iter().flat_map(|(_, facts)| facts.iter());
    let names = names.map(|(column, _)| column.name().len()).max().unwrap_or_default();
    for (title, facts) in sections.into_iter().filter(|(_, facts)| !facts.is_empty()) {
        text += &format!("\n{BOLD}{title}{BOLD:#}\n");
        for (column, cell) in facts {
            fact(&mut text, 2, names, column.name(), cell, width);
        }
    }
    if !view.rows.is_empty() {
        text.push('\n');
        match widths(view, width) {
            Some(widths) => table(&mut text, view, &widths),
            None => blocks(&mut text, view, width),
        }
    }
    headers(&mut text, &view.headers, width);
    text
}

/// The widths of the columns side by side, if they fit.
fn widths(view: &View, width: usize) -> Option<Vec<usize>> {
    let mut columns = Vec::with_capacity(view.columns.len());
    for (index, column) in view.columns.iter().enumerate() {
        let cells = || view.rows.iter().filter_map(|row| row.get(index));
        let lines = cells().map(|cell| line(cell).width());
        let words = cells().flat_map(|cell| cell.items.iter()).flat_map(|item| item.split(' '));
        let words = words.map(|word| printable(word).width() + 1);
        let name = column.name().len();
        let longest_word = words.max().unwrap_or_default().min(WIDEST_WORD).max(name);
        columns.push((longest_word, lines.max().unwrap_or_default().max(longest_word)));
    }
    let gaps = GAP * columns.len().saturating_sub(1);
    let room = width.checked_sub(gaps)?;
    let least: usize = columns.iter().map(|(least, _)| least).sum();
    if least > room {
        return None;
    }
    // What is left goes, column by column, to the one that is the most lines short of its content.
    let mut widths: Vec<usize> = columns.iter().map(|(least, _)| *least).collect();
    for _ in least..room {
        let needs = widths.iter_mut().zip(&columns);
        let needs = needs.filter(|(width, (_, full))| **width < *full);
        let Some((width, _)) = needs.max_by_key(|(width, (_, full))| full.div_ceil(**width)) else {
            break;
        };
        *width += 1;
    }
    Some(widths)
}

fn table(text: &mut String, view: &View, widths: &[usize]) {
    let names: Vec<_> = view.columns.iter().map(|column| vec![column.name().to_owned()]).collect();
    let styled = |_: &Cell, _: Column| BOLD;
    let head: Vec<_> = names.iter().map(|name| Cell::list(name.iter().cloned())).collect();
    row(text, &head, &view.columns, widths, styled);
    let rule: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
    *text += &format!("{DIM}{}{DIM:#}\n", rule.join(&" ".repeat(GAP)));
    for cells in &view.rows {
        row(text, cells, &view.columns, widths, style);
    }
}

fn row(
    text: &mut String,
    cells: &[Cell],
    columns: &[Column],
    widths: &[usize],
    style: impl Fn(&Cell, Column) -> Style,
) {
    let columns: Vec<_> = cells
        .iter()
        .zip(columns)
        .zip(widths)
        .map(|((cell, column), width)| {
            (wrapped(&printable_items(cell), *width), style(cell, *column), *width)
        })
        .collect();
    let height = columns.iter().map(|(lines, ..)| lines.len()).max().unwrap_or_default();
    for index in 0..height {
        // Spaces at the end of a line are left out.
        let mut missing = 0;
        for (lines, style, width) in &columns {
            let line = lines.get(index).map(String::as_str).unwrap_or_default();
            if !line.is_empty() {
                *text += &" ".repeat(missing);
                *text += &format!("{style}{line}{style:#}");
                missing = 0;
            }
            missing += width.saturating_sub(line.width()) + GAP;
        }
        text.push('\n');
    }
}

fn blocks(text: &mut String, view: &View, width: usize) {
    let names = view.columns.iter().filter(|column| !is_head(**column));
    let names = names.map(|column| column.name().len()).max().unwrap_or_default();
    for (index, cells) in view.rows.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let columns = || cells.iter().zip(&view.columns);
        let head: Vec<_> = columns()
            .filter(|(_, column)| is_head(**column))
            .map(|(cell, column)| match column {
                Column::Methods => cell.items.join(", "),
                _ => cell.items.join(" "),
            })
            .collect();
        for line in wrapped(&[printable(&head.join(" "))], width) {
            *text += &format!("{BOLD}{line}{BOLD:#}\n");
        }
        for (cell, column) in columns().filter(|(_, column)| !is_head(**column)) {
            if !cell.items.is_empty() {
                fact(text, 2, names, column.name(), cell, width);
            }
        }
    }
}

fn is_head(column: Column) -> bool {
    matches!(column, Column::Methods | Column::Path)
}

/// A name and what it has, in lines that are indented alike.
fn fact(text: &mut String, indent: usize, names: usize, name: &str, cell: &Cell, width: usize) {
    let before = indent + names + GAP;
    let style = style(cell, Column::Declared);
    let lines = wrapped(&printable_items(cell), width.saturating_sub(before).max(10));
    for (index, line) in lines.iter().enumerate() {
        *text += &" ".repeat(indent);
        let name = if index == 0 { name } else { "" };
        *text += &format!("{DIM}{name:names$}{DIM:#}  {style}{line}{style:#}\n");
    }
}

fn headers(text: &mut String, sets: &[HeaderSet], width: usize) {
    for HeaderSet { name, fields } in sets {
        let parts = [("on every response", &fields.every), ("on pages", &fields.pages)];
        for (where_to, fields) in parts.into_iter().filter(|(_, fields)| !fields.is_empty()) {
            *text += &format!("\n{BOLD}Headers, {name}, {where_to}{BOLD:#}\n");
            for (name, value) in fields {
                let lines = wrapped(&[printable(&format!("{name}: {value}"))], width - 4);
                for (index, line) in lines.iter().enumerate() {
                    *text += &format!("{}{line}\n", if index == 0 { "  " } else { "    " });
                }
            }
        }
    }
}

fn style(cell: &Cell, column: Column) -> Style {
    match (cell.tone, column) {
        (Tone::Open, _) => AnsiColor::Yellow.on_default(),
        (Tone::Risk, _) => AnsiColor::Red.on_default(),
        (Tone::Plain, Column::Path) => BOLD,
        (Tone::Plain, _) => Style::new(),
    }
}

/// The items of a cell, each but the last with a comma; a dash where there is none.
fn printable_items(cell: &Cell) -> Vec<String> {
    let last = cell.items.len().saturating_sub(1);
    match &*cell.items {
        [] => vec!["–".to_owned()],
        items => {
            let items = items.iter().enumerate();
            let comma = |index| if index < last { "," } else { "" };
            items.map(|(index, item)| format!("{}{}", printable(item), comma(index))).collect()
        }
    }
}

/// A cell on one line.
fn line(cell: &Cell) -> String {
    printable_items(cell).join(" ")
}
