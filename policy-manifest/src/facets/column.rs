//! What `cargo policy show` displays of a facet: columns of a table, and words in their cells.

use std::collections::BTreeMap;

use super::ManifestRoute;
use crate::Sources;

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its title.
    pub name: &'static str,
    /// Its position: columns with lower numbers come first.
    pub position: u8,
    /// What it means that no route has it; `None` if that is obvious.
    pub absent: Option<&'static str>,
    /// Whether it stays even if all routes have the same value.
    pub is_key: bool,
    /// Whether the value that most routes share is left out of it. The facts that a reviewer checks
    /// first always stay in the row itself.
    pub is_secondary: bool,
    /// Whether few routes have it, so that a page shows it together with others.
    pub is_rare: bool,
    /// Whether it is shown in the font of code.
    pub is_code: bool,
    /// Whether a route that has it shares responses with pages of other origins.
    pub shares: bool,
}

impl Column {
    /// A column with this title.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            position: 0,
            absent: None,
            is_key: false,
            is_secondary: false,
            is_rare: false,
            is_code: false,
            shares: false,
        }
    }
}

/// A route as a table shows it.
#[derive(Clone, Copy, Debug)]
pub struct ShownRoute<'a> {
    /// The route.
    pub route: &'a ManifestRoute,
    /// The lines that decided, and the present entries of lists that are given at run time.
    pub sources: Option<&'a Sources>,
    /// The sets of security headers that are shown: their names in the manifest, and in the table.
    pub header_sets: &'a BTreeMap<&'a str, String>,
}

/// The cell of a route.
pub type CellOf = fn(ShownRoute<'_>) -> Cell;

/// The content of a column for a route: phrases, which are not split without need.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cell {
    /// The phrases.
    pub items: Vec<String>,
    /// Whether it deserves a second look.
    pub tone: Tone,
}

/// Whether something deserves a second look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tone {
    /// It does not.
    Plain,
    /// Open to all callers.
    Open,
    /// A protection that is turned off.
    Risk,
    /// The usual value, which is above the table: there are no phrases.
    Usual,
}

impl Cell {
    /// One phrase.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::list([text.into()])
    }

    /// Phrases.
    pub fn list(items: impl IntoIterator<Item = String>) -> Self {
        Self { items: items.into_iter().collect(), tone: Tone::Plain }
    }

    /// The text of a table if there are no phrases.
    pub fn absent(&self) -> &'static str {
        if self.tone == Tone::Usual { "usual" } else { "–" }
    }

    /// No phrase.
    pub fn nothing() -> Self {
        Self::list([])
    }

    /// Sets the tone.
    #[must_use]
    pub fn with_tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}
