//! The table as one page: it loads nothing, and runs only its inline script.

use std::collections::BTreeSet;

use data_encoding::BASE64;
use policy_manifest::facet::{CALLERS, Cell, Column, ORIGINS, Tone};
use sha2::{Digest as _, Sha256};

use super::view::{DECLARED, HeaderSet, METHODS, PATH, SERVICE, Section, View};
use crate::escape::markup;

/// Facts that few routes have.
const ALSO: Column = Column::new("Also");

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

pub(super) fn render(view: &View) -> String {
    let title = markup(&view.title);
    let (style, script) = (hash(STYLE), hash(SCRIPT));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {style}; \
         script-src {script}; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n"
    );
    head(&mut page, view);
    page += "<main>\n";
    sections(&mut page, view);
    filters(&mut page, view);
    table(&mut page, view);
    page += "<p id=\"nothing\" hidden>No route matches. <button type=\"reset\" form=\"filters\">Show \
             all</button></p>\n";
    headers(&mut page, &view.headers);
    page += &format!("</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n");
    page
}

fn head(page: &mut String, view: &View) {
    let (name, count) = view.title.rsplit_once(": ").unwrap_or((&view.title, ""));
    let (name, count) = (markup(name), markup(count));
    *page += &format!("<header>\n<h1>{name} <small>{count}</small></h1>\n");
    if !view.filters.is_empty() {
        let filters: Vec<_> = view.filters.iter().map(|words| markup(words)).collect();
        *page += &format!("<p>Only {}</p>\n", filters.join(", "));
    }
    *page += "<dl>\n";
    for (name, cell) in &view.app {
        *page += &format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", items(cell, ALSO));
    }
    for (facts, whose) in [(&view.common, "of every route here"), (&view.usual, "usual here")] {
        for (column, cell) in facts {
            let (name, items) = (column.name, items(cell, ALSO));
            *page += &format!("<div><dt>{name}, {whose}</dt><dd>{items}</dd></div>\n");
        }
    }
    *page += "</dl>\n</header>\n";
}

fn sections(page: &mut String, view: &View) {
    for Section { title, facts } in &view.sections {
        *page += &format!(
            "<details class=\"section\">\n<summary>{title}</summary>\n<dl tabindex=\"0\">\n"
        );
        for (name, cell) in facts {
            let (name, items) = (markup(name), items(cell, ALSO));
            *page += &format!("<div><dt>{name}</dt><dd>{items}</dd></div>\n");
        }
        *page += "</dl>\n</details>\n";
    }
}

/// The form, which the script shows: without it nothing is filtered.
fn filters(page: &mut String, view: &View) {
    let option = |text: &str| format!("<option>{}</option>", markup(text));
    let options = |column| -> String {
        let cells = view.rows.iter().filter_map(|row| cell(view, row, column));
        let texts: BTreeSet<&String> = cells.flat_map(|cell| &cell.items).collect();
        texts.into_iter().map(|text| option(text)).collect()
    };
    let methods = options(METHODS);
    let services = match view.columns.contains(&SERVICE) {
        true => format!(
            "<label>Service <select id=\"service\"><option value=\"\">all</option>{}</select></label>\n",
            options(SERVICE)
        ),
        false => String::new(),
    };
    let columns: String = page_columns(view).map(|(column, _)| option(column.name)).collect();
    *page += &format!(
        "<form id=\"filters\" role=\"search\" hidden>\n\
         <label class=\"find\">Find <input id=\"find\" type=\"search\" autocomplete=\"off\" \
         placeholder=\"path, role, origin, file\"></label>\n{services}\
         <label>Method <select id=\"method\"><option value=\"\">all</option>{methods}</select></label>\n\
         <label>Who may call <select id=\"who\"><option value=\"\">all</option>\
         <option value=\"open\">everybody</option><option value=\"closed\">with credentials</option>\
         </select></label>\n\
         <label>Show <select id=\"what\"><option value=\"\">all</option>\
         <option value=\"shared\">read by other origins</option>\
         <option value=\"risk\">a protection is off</option></select></label>\n\
         <label class=\"sort\">Sort <select id=\"sort\">{columns}</select></label>\n\
         <p id=\"count\" role=\"status\"></p>\n</form>\n"
    );
}

/// The columns of the page, and the columns that each is made of: those that few routes have share
/// one.
fn page_columns(view: &View) -> impl Iterator<Item = (Column, Vec<Column>)> {
    let (also, own): (Vec<Column>, Vec<Column>) =
        view.columns.iter().copied().partition(|column| column.is_rare);
    let (declared, own): (Vec<Column>, Vec<Column>) =
        own.into_iter().partition(|column| *column == DECLARED);
    let one = |column| (column, vec![column]);
    let also = (!also.is_empty()).then_some((ALSO, also));
    own.into_iter().map(one).chain(also).chain(declared.into_iter().map(one))
}

fn cell<'a>(view: &View, row: &'a [Cell], column: Column) -> Option<&'a Cell> {
    view.columns.iter().zip(row).find(|(known, _)| **known == column).map(|(_, cell)| cell)
}

fn table(page: &mut String, view: &View) {
    let caption = "Routes, and what each of them requires and allows";
    *page += &format!(
        "<div class=\"scroll\" role=\"region\" aria-labelledby=\"caption\" tabindex=\"0\">\n\
         <table role=\"table\">\n<caption id=\"caption\">{caption}</caption>\n\
         <thead role=\"rowgroup\"><tr role=\"row\">"
    );
    let columns: Vec<_> = page_columns(view).collect();
    for (column, _) in &columns {
        let name = column.name;
        *page += &format!(
            "<th scope=\"col\" role=\"columnheader\"><button type=\"button\">{name}</button></th>"
        );
    }
    *page += "</tr></thead>\n<tbody role=\"rowgroup\">\n";
    for row in &view.rows {
        *page += &format!("<tr role=\"row\"{}>", marks(view, row));
        for (column, from) in &columns {
            table_cell(page, *column, &merge(view, row, *column, from));
        }
        *page += "</tr>\n";
    }
    *page += "</tbody>\n</table>\n</div>\n";
}

/// The values that the form filters by.
fn marks(view: &View, row: &[Cell]) -> String {
    let of = |column| cell(view, row, column);
    let is_open = of(CALLERS).is_some_and(|callers| callers.tone == Tone::Open);
    let cells = view.columns.iter().zip(row);
    let is_shared = cells.into_iter().any(|(column, cell)| column.shares && !cell.items.is_empty());
    let is_risk = row.iter().any(|cell| cell.tone == Tone::Risk);
    let marks = [(is_open, "open"), (is_shared, "shared"), (is_risk, "risk")];
    let marks: Vec<_> = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
    format!(" data-marks=\"{}\"", marks.join(" "))
}

fn merge(view: &View, row: &[Cell], column: Column, from: &[Column]) -> Cell {
    let mut merged = Cell::nothing();
    for source in from {
        let Some(cell) = cell(view, row, *source) else { continue };
        match (cell.tone, merged.tone) {
            (Tone::Open, Tone::Plain) | (Tone::Risk, _) => merged.tone = cell.tone,
            _ => (),
        }
        if column == *source {
            merged.tone = cell.tone;
            merged.items.extend(cell.items.iter().cloned());
        } else if !cell.items.is_empty() {
            merged.items.push(format!("{}: {}", source.name, cell.items.join(", ")));
        }
    }
    merged
}

fn table_cell(page: &mut String, column: Column, cell: &Cell) {
    let (name, items) = (column.name, items(cell, column));
    let class = match (cell.tone, cell.items.is_empty()) {
        (_, true) => " class=\"none\"",
        (Tone::Open, _) => " class=\"open\"",
        (Tone::Risk, _) => " class=\"risk\"",
        (Tone::Plain | Tone::Usual, _) => "",
    };
    *page += &match column {
        PATH => {
            format!("<th scope=\"row\" role=\"rowheader\" data-label=\"{name}\">{items}</th>")
        }
        _ => format!("<td role=\"cell\" data-label=\"{name}\"{class}>{items}</td>"),
    };
}

/// The phrases of a cell, each of which begins a line.
fn items(cell: &Cell, column: Column) -> String {
    let class = |index: usize| match column {
        METHODS => "method",
        SERVICE => "service",
        PATH if index == 0 => "code",
        ORIGINS | DECLARED => "code",
        _ if column.is_code => "code",
        _ => "text",
    };
    let sign = if column == DECLARED { ':' } else { '/' };
    let item = |(index, item): (usize, &String)| {
        format!("<span class=\"{}\">{}</span>", class(index), breakable(item, sign))
    };
    match cell.items.is_empty() {
        true => format!("<span class=\"text\">{}</span>", cell.absent()),
        false => cell.items.iter().enumerate().map(item).collect::<Vec<_>>().join(" "),
    }
}

fn headers(page: &mut String, sets: &[HeaderSet]) {
    for HeaderSet { name, fields } in sets {
        let name = markup(name);
        *page += &format!("<details>\n<summary>Headers, {name}</summary>\n");
        for (place, fields) in [("On every response", &fields.every), ("On pages", &fields.pages)] {
            if fields.is_empty() {
                continue;
            }
            *page += &format!("<h2>{place}</h2>\n<dl class=\"fields\">\n");
            for (name, value) in fields {
                let (name, value) = (markup(name), markup(value));
                *page += &format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n");
            }
            *page += "</dl>\n";
        }
        *page += "</details>\n";
    }
}

/// Text that may be broken after a sign, before the next name.
fn breakable(text: &str, sign: char) -> String {
    let mut breakable = String::with_capacity(text.len());
    for (index, part) in text.split_inclusive(sign).enumerate() {
        if index > 0
            && part
                .starts_with(|first: char| first.is_alphanumeric() || first == '*' || first == '{')
        {
            breakable += "<wbr>";
        }
        breakable += &markup(part);
    }
    breakable
}

/// The CSP source that permits this text.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64.encode(&Sha256::digest(text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_neither_markup_nor_the_end_of_an_attribute() {
        assert_eq!(
            markup("<b a='c' d=\"e\">&\u{1b}"),
            "&lt;b a=&#39;c&#39; d=&quot;e&quot;&gt;&amp;\\u{1b}"
        );
        assert_eq!(breakable("/a//b/<c", '/'), "/<wbr>a//<wbr>b/&lt;c");
    }

    #[test]
    fn the_page_has_no_style_or_script_but_its_own() {
        for text in [STYLE, SCRIPT] {
            assert!(!text.contains("</") && !text.contains("http") && !text.contains("url("));
            assert!(!text.contains("innerHTML") && !text.contains("@import"));
        }
    }
}
