//! A fault whose edits are located in the sources.

use std::{collections::BTreeMap, ops::Range, path::PathBuf};

use super::{
    entry::Fault,
    sources::{Place, Source},
};

/// A fault and the places of its edits, in order.
pub(super) struct Placed<'a> {
    pub(super) fault: &'a Fault,
    pub(super) places: Vec<Place<'a>>,
}

impl Placed<'_> {
    /// Each file that the fault changes, with the fault in it.
    pub(super) fn files(&self) -> BTreeMap<PathBuf, String> {
        let sources = self.places.iter().map(|place| place.source);
        sources
            .map(|source| (source.file.clone(), self.apply(source, 0..source.text.len())))
            .collect()
    }

    /// A part of a file, with the fault in it.
    pub(super) fn apply(&self, source: &Source, part: Range<usize>) -> String {
        let edits = self.places.iter().zip(&self.fault.edit);
        let mut edits: Vec<(Range<usize>, &str)> = edits
            .filter(|(place, _)| place.source.file == source.file)
            .map(|(place, edit)| (place.range.clone(), edit.replace.trim()))
            .filter(|(range, _)| part.start <= range.start && range.end <= part.end)
            .collect();
        edits.sort_by_key(|(range, _)| range.start);
        let (mut text, mut from) = (String::new(), part.start);
        for (range, replace) in edits {
            text.push_str(source.part(from..range.start));
            text.push_str(replace);
            from = range.end;
        }
        text.push_str(source.part(from..part.end));
        text
    }
}
