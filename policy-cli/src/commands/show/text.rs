//! The table for a terminal: side by side where the columns fit into its width, else one below the
//! other for each route.

use anstyle::{AnsiColor, Style};
use policy_manifest::facet::{Cell, Column, ORIGINS, Tone};
use unicode_width::UnicodeWidthStr as _;

use super::{
    compact::{POLICY, ROUTE, compact},
    view::{DECLARED, HeaderSet, METHODS, PATH, SERVICE, Section, View},
    wrap::wrap,
};
use crate::{
    escape::printable,
    output::{BOLD, DIM},
};

/// Between columns.
const GAP: usize = 2;

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
    for Section { title, facts } in &view.sections {
        text += &format!("\n{BOLD}{title}{BOLD:#}\n");
        let names = facts.iter().map(|(name, _)| name.width()).max().unwrap_or_default();
        for (name, cell) in facts {
            fact(&mut text, 2, names.min(width / 3), &printable(name), cell, width);
        }
    }
    let sections = [("Every route here", &view.common), ("Usual here", &view.usual)];
    let names = sections.iter().flat_map(|(_, facts)| facts.iter());
    let names = names.map(|(column, _)| column.name.len()).max().unwrap_or_default();
    for (title, facts) in sections.into_iter().filter(|(_, facts)| !facts.is_empty()) {
        text += &format!("\n{BOLD}{title}{BOLD:#}\n");
        for (column, cell) in facts {
            fact(&mut text, 2, names, column.name, cell, width);
        }
    }
    if !view.rows.is_empty() {
        text.push('\n');
        let (columns, rows) = compact(view);
        if let Some(widths) = widths(&view.columns, &view.rows, width) {
            table(&mut text, &view.columns, &view.rows, &widths);
        } else if let Some(widths) = widths(&columns, &rows, width) {
            table(&mut text, &columns, &rows, &widths);
        } else {
            blocks(&mut text, view, width);
        }
    }
    headers(&mut text, &view.headers, width);
    text
}

/// The widths of the columns side by side, if they fit.
fn widths(columns: &[Column], rows: &[Vec<Cell>], width: usize) -> Option<Vec<usize>> {
    let mut bounds = Vec::with_capacity(columns.len());
    for (index, column) in columns.iter().enumerate() {
        let (mut least, mut full) = (column.name.len(), column.name.len());
        for cell in rows.iter().filter_map(|row| row.get(index)) {
            let items = printable_items(cell, *column);
            let words = items.iter().flat_map(|item| item.split(' ')).map(str::width);
            least = least.max(words.max().unwrap_or_default().min(widest_word(*column)));
            let items = items.iter().map(|item| item.width());
            full = full.max(match is_list(*column) {
                true => items.max().unwrap_or_default(),
                false => items.map(|width| width + 1).sum::<usize>().saturating_sub(1),
            });
        }
        bounds.push((least, full.max(least)));
    }
    let room = width.checked_sub(GAP * columns.len().saturating_sub(1))?;
    let sum: usize = bounds.iter().map(|(least, _)| least).sum();
    if sum > room {
        return None;
    }
    // The remaining width goes, step by step, to the column that is the most lines short of its
    // content.
    let mut widths: Vec<usize> = bounds.iter().map(|(least, _)| *least).collect();
    for _ in sum..room {
        let needs = widths.iter_mut().zip(&bounds).filter(|(width, (_, full))| **width < *full);
        let neediest = needs.max_by_key(|(width, (_, full))| full.div_ceil(**width));
        let Some((width, _)) = neediest else { break };
        *width += 1;
    }
    Some(widths)
}

/// The number of characters of a word that a column must show on one line to be readable.
fn widest_word(column: Column) -> usize {
    match column {
        PATH | ROUTE | ORIGINS => 30,
        POLICY | DECLARED => 20,
        _ => 16,
    }
}

/// Whether each phrase of a column begins a line.
fn is_list(column: Column) -> bool {
    matches!(column, POLICY | DECLARED)
}

/// The separator between the phrases of a cell.
fn separator(column: Column) -> &'static str {
    match column {
        PATH | ROUTE | POLICY | DECLARED => "",
        _ => ",",
    }
}

fn table(text: &mut String, columns: &[Column], rows: &[Vec<Cell>], widths: &[usize]) {
    let head: Vec<_> = columns.iter().map(|column| Cell::plain(column.name)).collect();
    *text += &lines(&head, columns, widths, |_, _| BOLD).concat();
    let rule: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
    *text += &format!("{DIM}{}{DIM:#}\n", rule.join(&" ".repeat(GAP)));
    let rows: Vec<_> = rows.iter().map(|cells| lines(cells, columns, widths, style)).collect();
    let mut before = None;
    for lines in rows {
        // Rows of one line each need nothing between them.
        if before.is_some_and(|before| before > 1 || lines.len() > 1) {
            text.push('\n');
        }
        *text += &lines.concat();
        before = Some(lines.len());
    }
}

/// The lines of a row.
fn lines(
    cells: &[Cell],
    columns: &[Column],
    widths: &[usize],
    style: impl Fn(&Cell, Column) -> Style,
) -> Vec<String> {
    let cells = cells.iter().zip(columns).zip(widths).map(|((cell, column), width)| {
        let items = printable_items(cell, *column);
        let lines = match is_list(*column) {
            true => {
                items.iter().flat_map(|item| wrap(std::slice::from_ref(item), *width)).collect()
            }
            false => wrap(&items, *width),
        };
        (lines, style(cell, *column), *width)
    });
    let cells: Vec<(Vec<String>, Style, usize)> = cells.collect();
    let height = cells.iter().map(|(lines, ..)| lines.len()).max().unwrap_or_default();
    let line = |index| {
        let mut text = String::new();
        // Spaces at the end of a line are left out.
        let mut missing = 0;
        for (lines, style, width) in &cells {
            let line = lines.get(index).map(String::as_str).unwrap_or_default();
            if !line.is_empty() {
                text += &format!("{:missing$}{style}{line}{style:#}", "");
                missing = 0;
            }
            missing += width.saturating_sub(line.width()) + GAP;
        }
        text + "\n"
    };
    (0..height).map(line).collect()
}

fn blocks(text: &mut String, view: &View, width: usize) {
    let names = view.columns.iter().filter(|column| !is_head(**column));
    let names = names.map(|column| column.name.len()).max().unwrap_or_default();
    for (index, cells) in view.rows.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        let columns = || cells.iter().zip(&view.columns);
        let head: Vec<_> = columns()
            .filter(|(_, column)| is_head(**column))
            .map(|(cell, column)| match *column {
                METHODS => cell.items.join(", "),
                _ => cell.items.join(" "),
            })
            .collect();
        for line in wrap(&[printable(&head.join(" "))], width) {
            *text += &format!("{BOLD}{line}{BOLD:#}\n");
        }
        for (cell, column) in columns().filter(|(_, column)| !is_head(**column)) {
            if !cell.items.is_empty() {
                fact(text, 2, names, column.name, cell, width);
            }
        }
    }
}

fn is_head(column: Column) -> bool {
    matches!(column, SERVICE | METHODS | PATH)
}

/// A name and its value, in lines with the same indent.
fn fact(text: &mut String, indent: usize, names: usize, name: &str, cell: &Cell, width: usize) {
    let before = indent + names + GAP;
    let style = style(cell, DECLARED);
    let lines = wrap(&printable_items(cell, METHODS), width.saturating_sub(before).max(10));
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
                let lines = wrap(&[printable(&format!("{name}: {value}"))], width - 4);
                for (index, line) in lines.iter().enumerate() {
                    *text += &format!("{}{line}\n", if index == 0 { "  " } else { "    " });
                }
            }
        }
    }
}

fn style(cell: &Cell, column: Column) -> Style {
    match (cell.tone, column) {
        _ if cell.items.is_empty() => DIM,
        (Tone::Open, _) => AnsiColor::Yellow.on_default(),
        (Tone::Risk, _) => AnsiColor::Red.on_default(),
        (Tone::Plain, PATH | ROUTE) => BOLD,
        (Tone::Plain | Tone::Usual, _) => Style::new(),
    }
}

/// The phrases of a cell, with their separators; a dash if there is none.
fn printable_items(cell: &Cell, column: Column) -> Vec<String> {
    let last = cell.items.len().saturating_sub(1);
    let separator = separator(column);
    match &*cell.items {
        [] => vec![cell.absent().to_owned()],
        items => {
            let between = |index| if index < last { separator } else { "" };
            let items = items.iter().enumerate();
            items.map(|(index, item)| format!("{}{}", printable(item), between(index))).collect()
        }
    }
}
