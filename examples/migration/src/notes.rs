//! What all steps serve: notes that everybody may read, and the owners of a key may write.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// One note.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Note {
    /// The text of the note.
    pub text: String,
}

/// The notes, by number; one that was deleted leaves a gap.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<Option<Note>>>>);

impl Notes {
    /// All notes that there are.
    pub fn all(&self) -> Vec<Note> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().flatten().cloned().collect()
    }

    /// Adds a note, and gives its number.
    pub fn add(&self, note: Note) -> usize {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push(Some(note));
        notes.len() - 1
    }

    /// Deletes a note. Returns whether it existed.
    pub fn delete(&self, number: usize) -> bool {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.get_mut(number).and_then(Option::take).is_some()
    }
}

/// The owner of a key.
pub fn owner_of(key: &[u8]) -> Option<&'static str> {
    match key {
        b"ada's key" => Some("ada"),
        _ => None,
    }
}
