//! The table as data: what every format shows, in words that no format has escaped yet.

use std::collections::{BTreeMap, HashMap};

use policy_manifest::{
    Headers,
    facet::{self, CALLERS, CREDENTIALS, Cell, Column, ShownRoute, Tone},
};

use super::{
    filter::{Filter, Selected},
    fleet::{self, ServiceRoutes},
    json::select_routes,
    words,
};
use crate::{input::Input, shown};

/// What is shown.
#[derive(Debug)]
pub(super) struct View {
    /// The name of the app, and how many routes are shown.
    pub(super) title: String,
    /// The filters in words.
    pub(super) filters: Vec<String>,
    /// The facts about the app as a whole.
    pub(super) app: Vec<(&'static str, Cell)>,
    /// The facts about a fleet of services, and the rules of the objects of routes.
    pub(super) sections: Vec<Section>,
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

/// Facts with names from manifests, below a title.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) facts: Vec<(String, Cell)>,
}

/// A set of security headers.
#[derive(Debug)]
pub(super) struct HeaderSet {
    pub(super) name: String,
    pub(super) fields: Headers,
}

/// The columns that no facet has.
pub(super) const SERVICE: Column = Column { is_key: true, ..Column::new("Service") };
pub(super) const METHODS: Column = Column { is_key: true, ..Column::new("Method") };
pub(super) const PATH: Column = Column { is_key: true, ..Column::new("Path") };
pub(super) const READING: Column = Column { is_key: true, ..Column::new("Page may read") };
pub(super) const TARGET: Column =
    Column { is_secondary: true, is_rare: true, ..Column::new("Served by") };
pub(super) const REFUSES: Column =
    Column { is_secondary: true, is_rare: true, ..Column::new("Refuses with") };
pub(super) const DECLARED: Column = Column::new("Declared");

/// The cells of each column.
type Table = Vec<(Column, Vec<Cell>)>;

impl View {
    /// The routes of one app.
    pub(super) fn for_app(member: &ServiceRoutes<'_>, filter: &Filter) -> Self {
        let Input { name, manifest, .. } = member.input;
        let app = words::app(&manifest.app);
        let count = count(member.routes.len(), manifest.routes.len());
        let title = format!("{name}: {count}");
        Self { app, title, ..Self::new(std::slice::from_ref(member), filter) }
    }

    /// The routes of many services, with a column that names the service.
    pub(super) fn for_fleet(fleet: &[ServiceRoutes<'_>], filter: &Filter) -> Self {
        let selected = fleet.iter().map(|member| member.routes.len()).sum();
        let all = fleet.iter().map(|member| member.input.manifest.routes.len()).sum();
        let services = if fleet.len() == 1 { "service" } else { "services" };
        let title = format!("{} {services}: {}", fleet.len(), count(selected, all));
        let mut view = Self::new(fleet, filter);
        let names = fleet.iter().flat_map(|member| {
            member.routes.iter().map(|_| Cell::plain(member.input.name.clone()))
        });
        view.columns.insert(0, SERVICE);
        view.rows.iter_mut().zip(names).for_each(|(row, name)| row.insert(0, name));
        view.sections.splice(..0, fleet::sections(fleet));
        Self { title, ..view }
    }

    fn new(fleet: &[ServiceRoutes<'_>], filter: &Filter) -> Self {
        let (names, headers) = header_names(fleet);
        let rows: Vec<_> = fleet
            .iter()
            .zip(&names)
            .flat_map(|(member, names)| {
                member.routes.iter().map(move |row| (row, member.input, names))
            })
            .collect();
        type Row<'a> = (&'a Selected<'a>, &'a Input, &'a SetNames<'a>);
        let mut table = Table::new();
        let mut column = |column: Column, cell: &dyn Fn(&Row<'_>) -> Cell| {
            table.push((column, rows.iter().map(cell).collect()));
        };
        column(METHODS, &|(row, ..)| words::methods(row.route));
        column(PATH, &|(row, ..)| words::path(row.route));
        let mut of_facets: Vec<_> = facet::ALL.iter().flat_map(|facet| facet.columns).collect();
        of_facets.sort_by_key(|(column, _)| column.position);
        for (of_facet, cell) in of_facets {
            // The column about reading states it already.
            if *of_facet == CREDENTIALS && filter.origin.is_some() {
                continue;
            }
            column(*of_facet, &|(row, input, names)| {
                let sources = input.sources.as_ref();
                cell(ShownRoute { route: row.route, sources, header_sets: names })
            });
            if *of_facet == CALLERS && filter.origin.is_some() {
                column(READING, &|(row, ..)| {
                    row.reading.as_ref().map_or_else(Cell::nothing, words::reading)
                });
            }
        }
        column(TARGET, &|(row, ..)| {
            let layers = row.route.layers.iter().map(|layer| format!("layer of the {layer}"));
            Cell::list(row.route.target.words().into_iter().chain(layers))
        });
        column(REFUSES, &|(row, input, _)| words::refuses(&input.manifest, row.route));
        if fleet.iter().any(|member| member.input.sources.is_some()) {
            column(DECLARED, &|(row, input, _)| {
                let sources = input.sources.as_ref();
                sources.map_or_else(Cell::nothing, |sources| words::declared(row.route, sources))
            });
        }
        let (common, table) = without_common(table);
        let columns = table.iter().map(|(column, _)| *column).collect();
        Self {
            title: String::new(),
            filters: filter.words(),
            app: Vec::new(),
            sections: rules(fleet).into_iter().collect(),
            common,
            usual: Vec::new(),
            columns,
            rows: transpose(table, rows.len()),
            headers,
        }
    }

    /// The same table in fewer words: the limits, headers, isolation and caching of most routes are
    /// listed once above the table, and their cells state that the value is the usual one.
    pub(super) fn condense(mut self) -> Self {
        for (index, column) in self.columns.iter().enumerate().filter(|(_, it)| it.is_secondary) {
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
        let Some(index) = self.columns.iter().position(|column| *column == DECLARED) else {
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
            self.usual.push((DECLARED, Cell::list(usual)));
        }
    }
}

/// The rules of the objects that the routes check.
fn rules(fleet: &[ServiceRoutes<'_>]) -> Option<Section> {
    let rules = fleet.iter().flat_map(|member| {
        let rules = select_routes(&member.input.manifest, &member.routes).objects;
        rules.into_iter().map(|(name, condition)| match fleet {
            [_] => (name, Cell::plain(condition)),
            _ => (format!("{}: {name}", member.input.name), Cell::plain(condition)),
        })
    });
    let facts: Vec<_> = rules.collect();
    (!facts.is_empty()).then_some(Section { title: "Rules of objects", facts })
}

/// Removes the columns in which all routes are alike.
fn without_common(table: Table) -> (Vec<(Column, Cell)>, Table) {
    let mut common = Vec::new();
    let mut rest = Vec::new();
    for (column, cells) in table {
        match cells.split_first() {
            Some((first, others)) if !column.is_key && others.iter().all(|it| it == first) => {
                if !first.items.is_empty() {
                    common.push((column, first.clone()));
                } else if let Some(absent) = column.absent {
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

/// How many routes are shown, of how many.
fn count(selected: usize, all: usize) -> String {
    match selected == all {
        true => shown::count(all, "route"),
        false => format!("{selected} of {all} routes"),
    }
}

/// The names that sets of headers have in a manifest, and in the table.
type SetNames<'a> = BTreeMap<&'a str, String>;

/// The sets of headers that routes refer to, in the order of their first use: for each service their
/// names, and each set once.
fn header_names<'a>(fleet: &'a [ServiceRoutes<'_>]) -> (Vec<SetNames<'a>>, Vec<HeaderSet>) {
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    let mut sets = Vec::new();
    let names_of = |member: &'a ServiceRoutes<'_>| {
        let mut names = SetNames::new();
        for set in member.routes.iter().filter_map(|row| row.route.headers.as_deref()) {
            let Some(fields) = member.input.manifest.headers.get(set) else { continue };
            if names.contains_key(set) {
                continue;
            }
            let next = format!("set {}", known.len() + 1);
            let name = known.entry(set).or_insert_with(|| {
                sets.push(HeaderSet { name: next.clone(), fields: fields.clone() });
                next
            });
            names.insert(set, name.clone());
        }
        names
    };
    let names = fleet.iter().map(names_of).collect();
    (names, sets)
}
