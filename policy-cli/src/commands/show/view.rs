//! The table as data: what every format shows, in words that no format has escaped yet.

use std::collections::{BTreeMap, HashMap};

use policy_manifest::{Headers, Manifest};

use super::{
    filter::{Filter, Selected},
    words,
};
use crate::input::Input;

/// What is shown.
#[derive(Debug)]
pub(super) struct View {
    /// The name of the app, and how many routes are shown.
    pub(super) title: String,
    /// The filters in words.
    pub(super) filters: Vec<String>,
    /// The facts about the app as a whole.
    pub(super) app: Vec<(&'static str, Cell)>,
    /// The values that all routes share, so that no column is needed.
    pub(super) common: Vec<(Column, Cell)>,
    /// The values that most routes have, see [`condense`](Self::condense).
    pub(super) usual: Vec<(Column, Cell)>,
    pub(super) columns: Vec<Column>,
    /// The cells of each route, one for each of the columns.
    pub(super) rows: Vec<Vec<Cell>>,
    /// The sets of security headers to which cells refer.
    pub(super) headers: Vec<HeaderSet>,
}

/// A set of security headers.
#[derive(Debug)]
pub(super) struct HeaderSet {
    pub(super) name: String,
    pub(super) fields: Headers,
}

/// The subject of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Methods,
    Path,
    Callers,
    Reading,
    Origins,
    Credentials,
    Csrf,
    Cache,
    Limits,
    Isolation,
    Jsonp,
    Headers,
    Declared,
    /// Method and path.
    Route,
    /// Everything else about the policy.
    Policy,
    /// Facts that few routes have.
    Also,
}

impl Column {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Methods => "Method",
            Self::Path => "Path",
            Self::Callers => "Who may call",
            Self::Reading => "Page may read",
            Self::Origins => "Origins",
            Self::Credentials => "Credentials",
            Self::Csrf => "CSRF",
            Self::Cache => "Cache",
            Self::Limits => "Limits",
            Self::Isolation => "Isolation",
            Self::Jsonp => "JSONP",
            Self::Headers => "Headers",
            Self::Declared => "Declared",
            Self::Route => "Route",
            Self::Policy => "Policy",
            Self::Also => "Also",
        }
    }

    /// The separator between the phrases of a cell.
    pub(super) fn separator(self) -> &'static str {
        match self {
            Self::Path | Self::Route => "",
            _ => ",",
        }
    }

    /// What it means that no route has it; `None` if that is obvious.
    fn absent(self) -> Option<&'static str> {
        match self {
            Self::Origins => Some("none: no page of another origin reads responses"),
            Self::Headers => Some("none"),
            Self::Cache => Some("as handlers say"),
            _ => None,
        }
    }

    /// Whether the value that most routes share is left out of the column. The facts that a
    /// reviewer checks first always stay in the row itself.
    fn is_secondary(self) -> bool {
        matches!(self, Self::Cache | Self::Limits | Self::Isolation | Self::Headers)
    }

    /// Whether the column stays even if all routes have the same value.
    fn is_key(self) -> bool {
        matches!(self, Self::Methods | Self::Path | Self::Callers | Self::Reading)
    }
}

/// The cells of each column.
type Table = Vec<(Column, Vec<Cell>)>;

/// The content of a column for a route: phrases, which are not split without need.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cell {
    pub(super) items: Vec<String>,
    pub(super) tone: Tone,
}

/// Whether something deserves a second look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tone {
    Plain,
    /// Open to all callers.
    Open,
    /// A protection that is turned off.
    Risk,
    /// The usual value, which is above the table: there are no phrases.
    Usual,
}

impl Cell {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self::list([text.into()])
    }

    pub(super) fn list(items: impl IntoIterator<Item = String>) -> Self {
        Self { items: items.into_iter().collect(), tone: Tone::Plain }
    }

    /// The text of a table if there are no phrases.
    pub(super) fn absent(&self) -> &'static str {
        if self.tone == Tone::Usual { "usual" } else { "–" }
    }

    pub(super) fn nothing() -> Self {
        Self::list([])
    }

    pub(super) fn with_tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

impl View {
    pub(super) fn new(input: &Input, selected: &[Selected<'_>], filter: &Filter) -> Self {
        let Input { name, manifest, sources, .. } = input;
        let (shown, all) = (selected.len(), manifest.routes.len());
        let title = match (shown, all) {
            (1, 1) => format!("{name}: 1 route"),
            _ if shown == all => format!("{name}: {all} routes"),
            _ => format!("{name}: {shown} of {all} routes"),
        };
        let names = header_names(manifest, selected);
        let headers_cell = |selected: &Selected<'_>| {
            let set = selected.route.headers.as_ref();
            let index = set.and_then(|set| names.iter().position(|name| name == set));
            index.map_or_else(Cell::nothing, |index| Cell::plain(set_name(index)))
        };
        let mut table = Table::new();
        let mut column = |column: Column, cell: &dyn Fn(&Selected<'_>) -> Cell| {
            table.push((column, selected.iter().map(cell).collect()));
        };
        column(Column::Methods, &|row| words::methods(row.route));
        column(Column::Path, &|row| words::path(row.route));
        column(Column::Callers, &|row| words::callers(row.route));
        if filter.origin.is_some() {
            column(Column::Reading, &|row| {
                row.reading.as_ref().map_or_else(Cell::nothing, words::reading)
            });
        }
        column(Column::Origins, &|row| words::origins(row.route, sources.as_ref()));
        // The column about reading states it already.
        if filter.origin.is_none() {
            column(Column::Credentials, &|row| words::credentials(row.route));
        }
        column(Column::Csrf, &|row| words::csrf(row.route));
        column(Column::Cache, &|row| words::cache(row.route));
        column(Column::Limits, &|row| words::limits(row.route));
        column(Column::Isolation, &|row| words::isolation(row.route));
        column(Column::Jsonp, &|row| words::jsonp(row.route));
        column(Column::Headers, &headers_cell);
        if let Some(sources) = sources {
            column(Column::Declared, &|row| words::declared(row.route, sources));
        }
        let (common, table) = without_common(table);
        let columns = table.iter().map(|(column, _)| *column).collect();
        Self {
            title,
            filters: filter.words(),
            app: words::app(&manifest.app),
            common,
            usual: Vec::new(),
            columns,
            rows: transpose(table, shown),
            headers: header_sets(manifest, &names),
        }
    }
}

impl View {
    /// The same table in fewer words: the limits, headers, isolation and caching of most routes are
    /// listed once above the table, and their cells state that the value is the usual one.
    pub(super) fn condense(mut self) -> Self {
        for (index, column) in self.columns.iter().enumerate().filter(|(_, it)| it.is_secondary()) {
            let mut counts: HashMap<&Cell, usize> = HashMap::new();
            for cell in self.rows.iter().filter_map(|row| row.get(index)) {
                *counts.entry(cell).or_default() += 1;
            }
            let half = self.rows.len() / 2;
            let usual =
                counts.into_iter().find(|(cell, count)| *count > half && !cell.items.is_empty());
            let usual = usual.map(|(cell, _)| cell);
            let Some(usual) = usual.cloned() else { continue };
            for cell in self.rows.iter_mut().filter_map(|row| row.get_mut(index)) {
                if *cell == usual {
                    *cell = Cell::nothing().with_tone(Tone::Usual);
                } else if cell.items.is_empty() {
                    *cell = Cell::plain("none");
                }
            }
            self.usual.push((*column, usual));
        }
        self.declare_once();
        self
    }

    /// Takes the lines of the app that decided something for most routes out of their cells.
    fn declare_once(&mut self) {
        let Some(index) = self.columns.iter().position(|column| *column == Column::Declared) else {
            return;
        };
        let half = self.rows.len() / 2;
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        for item in self.rows.iter().filter_map(|row| row.get(index)).flat_map(|cell| &cell.items) {
            *counts.entry(item).or_default() += 1;
        }
        let usual = counts.into_iter().filter(|(_, count)| *count > half);
        let usual: Vec<String> = usual.map(|(item, _)| item.clone()).collect();
        for cell in self.rows.iter_mut().filter_map(|row| row.get_mut(index)) {
            cell.items.retain(|item| !usual.contains(item));
        }
        if !usual.is_empty() {
            self.usual.push((Column::Declared, Cell::list(usual)));
        }
    }
}

/// Removes the columns in which all routes are alike.
fn without_common(table: Table) -> (Vec<(Column, Cell)>, Table) {
    let mut common = Vec::new();
    let mut rest = Vec::new();
    for (column, cells) in table {
        match cells.split_first() {
            Some((first, others)) if !column.is_key() && others.iter().all(|it| it == first) => {
                if !first.items.is_empty() {
                    common.push((column, first.clone()));
                } else if let Some(absent) = column.absent() {
                    common.push((column, Cell::plain(absent)));
                }
            }
            _ => rest.push((column, cells)),
        }
    }
    (common, rest)
}

fn transpose(table: Table, count: usize) -> Vec<Vec<Cell>> {
    let mut rows: Vec<Vec<Cell>> = (0..count).map(|_| Vec::with_capacity(table.len())).collect();
    for (_, cells) in table {
        rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
    }
    rows
}

/// The sets of headers that routes refer to, in the order of their first use.
fn header_names<'a>(manifest: &'a Manifest, selected: &[Selected<'_>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for set in selected.iter().filter_map(|row| row.route.headers.as_deref()) {
        if let Some((name, _)) = manifest.headers.get_key_value(set)
            && !names.contains(&name.as_str())
        {
            names.push(name);
        }
    }
    names
}

fn header_sets(manifest: &Manifest, names: &[&str]) -> Vec<HeaderSet> {
    let sets = names.iter().enumerate().filter_map(|(index, name)| {
        Some(HeaderSet { name: set_name(index), fields: manifest.headers.get(*name)?.clone() })
    });
    sets.collect()
}

fn set_name(index: usize) -> String {
    format!("set {}", index + 1)
}
