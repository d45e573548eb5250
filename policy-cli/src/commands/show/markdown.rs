//! The table in Markdown (GitHub's).

use super::view::{Cell, Column, HeaderSet, View};
use crate::escape::printable;

pub(super) fn render(view: &View) -> String {
    let mut text = format!("## {}\n", words(&view.title));
    let mut facts: Vec<(&str, String)> = Vec::new();
    if !view.filters.is_empty() {
        facts
            .push(("Only", view.filters.iter().map(|it| words(it)).collect::<Vec<_>>().join(", ")));
    }
    facts.extend(view.app.iter().map(|(name, cell)| (*name, phrases(cell, ", "))));
    list(&mut text, &facts);
    for (title, facts) in [("Every route here", &view.common), ("Usual here", &view.usual)] {
        if !facts.is_empty() {
            text += &format!("\n{title}:\n");
            let facts: Vec<_> = facts
                .iter()
                .map(|(column, cell)| (column.name(), table_cell(cell, *column)))
                .collect();
            list(&mut text, &facts);
        }
    }
    if !view.rows.is_empty() {
        let names: Vec<_> = view.columns.iter().map(|column| column.name()).collect();
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

fn list(text: &mut String, facts: &[(&str, String)]) {
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
        Column::Path => match cell.items.split_first() {
            Some((path, [])) => code(path),
            Some((path, notes)) => {
                let notes: Vec<_> = notes.iter().map(|note| words(note)).collect();
                format!("{} {}", code(path), notes.join(" "))
            }
            None => String::new(),
        },
        Column::Origins | Column::Declared => phrases(cell, "<br>"),
        _ => phrases(cell, ", "),
    }
}

/// The phrases of a cell; words that have signs are code.
fn phrases(cell: &Cell, separator: &str) -> String {
    let word = |word: &str| if words(word) == word { word.to_owned() } else { code(word) };
    let phrase = |item: &String| item.split(' ').map(word).collect::<Vec<_>>().join(" ");
    cell.items.iter().map(phrase).collect::<Vec<_>>().join(separator)
}

/// Plain text: nothing in it is markup, or breaks out of a cell.
fn words(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for character in printable(text).chars() {
        match character {
            // Signs without a meaning where they stand, which would make the source hard to read.
            ' ' | '/' | '.' | ',' | ':' | ';' | '=' | '(' | ')' | '{' | '}' | '-' | '\'' | '%' => {
                words.push(character);
            }
            sign if sign.is_ascii_punctuation() => words += &format!("&#{};", u32::from(sign)),
            character => words.push(character),
        }
    }
    // No address becomes a link by itself.
    words.replace("://", "&#58;//").replace("www.", "www&#46;")
}

/// Text as code. What would end it, or a cell, is written as a reference.
fn code(text: &str) -> String {
    let text = printable(text);
    let is_plain = !text.contains(['`', '|', '\\']) && text.trim() == text && !text.is_empty();
    match is_plain {
        true => format!("`{text}`"),
        false => format!("<code>{}</code>", references(&text)),
    }
}

/// Every sign as a reference.
fn references(text: &str) -> String {
    let mut references = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_ascii_punctuation() {
            true => references += &format!("&#{};", u32::from(character)),
            false => references.push(character),
        }
    }
    references
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_neither_markup_nor_the_end_of_a_cell() {
        assert_eq!(words("scope orders:read"), "scope orders:read");
        assert_eq!(
            words("a|b `c` <d> *e* [f](g) _h_ &i; \\ # ~"),
            "a&#124;b &#96;c&#96; &#60;d&#62; &#42;e&#42; &#91;f&#93;(g) &#95;h&#95; &#38;i; &#92; &#35; &#126;"
        );
        assert_eq!(code("/orders/{id}"), "`/orders/{id}`");
        assert_eq!(code("<b>*"), "`<b>*`");
        assert_eq!(code("a|`b`\\"), "<code>a&#124;&#96;b&#96;&#92;</code>");
        assert_eq!(code(" a"), "<code> a</code>");
        assert_eq!(words("https://www.a"), "https&#58;//www&#46;a");
        assert_eq!(words("\n\u{1b}"), "&#92;u{a}&#92;u{1b}");
    }
}
