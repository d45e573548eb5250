//! The operations of a document as a table.

use serde_json::{Value, json};

use super::{
    Format,
    compare::callers,
    document::{Document, Operation},
};
use crate::{
    escape::{json_text, printable},
    markdown::{code, words},
    output::BOLD,
    shown::count,
};

/// What the columns say.
const COLUMNS: [&str; 5] = ["METHOD", "PATH", "OPERATION", "CALLERS", "STATUSES"];

pub(super) fn render(document: &Document, name: &str, format: Format) -> String {
    let rows: Vec<_> = document.operations().map(|operation| row(document, &operation)).collect();
    match format {
        Format::Text => text(name, &rows),
        Format::Markdown => markdown(name, &rows),
        Format::Json => {
            let rows = rows.iter().map(|[method, path, id, callers, statuses]| {
                let statuses: Vec<_> = statuses.split_whitespace().collect();
                json!({
                    "method": method, "path": path, "operation_id": id, "callers": callers,
                    "statuses": statuses,
                })
            });
            json_text(&json!({ "version": 1, "operations": rows.collect::<Vec<_>>() }))
        }
    }
}

fn row(document: &Document, operation: &Operation<'_>) -> [String; 5] {
    let id = operation.value.get("operationId").and_then(Value::as_str).unwrap_or_default();
    let statuses = document.entries(operation.value, "responses").map(|(status, _)| status);
    [
        operation.method.to_ascii_uppercase(),
        operation.path.to_owned(),
        id.to_owned(),
        callers(document, operation),
        statuses.collect::<Vec<_>>().join(" "),
    ]
}

fn text(name: &str, rows: &[[String; 5]]) -> String {
    let rows: Vec<_> = rows.iter().map(|row| row.each_ref().map(|cell| printable(cell))).collect();
    let titles = COLUMNS.map(str::to_owned);
    let all = || rows.iter().chain([&titles]);
    let widths = [0, 1, 2, 3].map(|column| {
        let cells = all().filter_map(|row| row.get(column));
        cells.map(|cell| unicode_width::UnicodeWidthStr::width(&**cell)).max().unwrap_or_default()
    });
    let line = |row: &[String; 5]| {
        let mut line = String::new();
        for (index, cell) in row.iter().enumerate() {
            line += cell;
            if let Some(width) = widths.get(index) {
                let used = unicode_width::UnicodeWidthStr::width(&**cell);
                line += &" ".repeat(width.saturating_sub(used) + 2);
            }
        }
        line.trim_end().to_owned() + "\n"
    };
    let count = count(rows.len(), "operation");
    let lines: String = rows.iter().map(line).collect();
    format!("{BOLD}{}{BOLD:#}: {count}\n\n{}{lines}", printable(name), line(&titles))
}

fn markdown(name: &str, rows: &[[String; 5]]) -> String {
    let lines = rows.iter().map(|[method, path, id, callers, statuses]| {
        let (operation, id) = (code(&format!("{method} {path}")), words(id));
        format!("| {operation} | {id} | {} | {} |\n", words(callers), words(statuses))
    });
    let lines: String = lines.collect();
    format!(
        "## Operations of {}\n\n| operation | id | callers | statuses |\n|---|---|---|---|\n{lines}",
        code(name)
    )
}
