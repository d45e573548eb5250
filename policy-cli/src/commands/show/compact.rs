//! The table in few columns, for terminals in which all of them do not fit side by side.

use policy_manifest::facet::{CALLERS, CREDENTIALS, Cell, Column, ORIGINS, Tone};

use super::view::{DECLARED, METHODS, PATH, READING, SERVICE, View};

/// Method and path.
pub(super) const ROUTE: Column = Column::new("Route");
/// Everything else about the policy.
pub(super) const POLICY: Column = Column::new("Policy");

/// The columns and rows of a view: the method with the path, who may call, the origins with their
/// credentials, and everything else below each other.
pub(super) fn compact(view: &View) -> (Vec<Column>, Vec<Vec<Cell>>) {
    let has = |column| view.columns.contains(&column);
    let mut columns: Vec<_> = has(SERVICE).then_some(SERVICE).into_iter().collect();
    columns.extend([ROUTE, CALLERS]);
    columns.extend([READING, ORIGINS].into_iter().filter(|column| has(*column)));
    let own = columns.clone();
    let is_else = |column: &Column| !own.contains(column) && !is_merged(*column);
    if view.columns.iter().any(is_else) {
        columns.push(POLICY);
    }
    let rows = view.rows.iter().map(|row| {
        let of = |column| {
            let cell = view.columns.iter().zip(row).find(|(known, _)| **known == column);
            cell.map_or_else(Cell::nothing, |(_, cell)| cell.clone())
        };
        let cells = columns.iter().map(|column| match *column {
            ROUTE => {
                let methods = of(METHODS).items.join(", ");
                Cell::list([methods].into_iter().chain(of(PATH).items))
            }
            ORIGINS => origins(of(ORIGINS), &of(CREDENTIALS)),
            POLICY => {
                let others = view.columns.iter().zip(row).filter(|(column, _)| is_else(column));
                policy(others.map(|(column, cell)| (*column, cell)))
            }
            column => of(column),
        });
        cells.collect()
    });
    (columns.clone(), rows.collect())
}

/// Whether a column is part of another one.
fn is_merged(column: Column) -> bool {
    matches!(column, METHODS | PATH | CREDENTIALS)
}

fn origins(mut origins: Cell, credentials: &Cell) -> Cell {
    let Some((first, dangers)) = credentials.items.split_first() else { return origins };
    if first == "yes" {
        origins.items.push("with credentials".to_owned());
        origins.items.extend(dangers.iter().cloned());
    }
    match credentials.tone {
        Tone::Plain | Tone::Usual => origins,
        tone => origins.with_tone(tone),
    }
}

fn policy<'a>(others: impl Iterator<Item = (Column, &'a Cell)>) -> Cell {
    let mut policy = Cell::nothing();
    for (column, cell) in others.filter(|(_, cell)| !cell.items.is_empty()) {
        match column {
            DECLARED => policy.items.extend(cell.items.iter().cloned()),
            column => {
                policy.items.push(format!("{}: {}", column.name, cell.items.join(", ")));
            }
        }
        if cell.tone == Tone::Risk {
            policy.tone = Tone::Risk;
        }
    }
    policy
}
