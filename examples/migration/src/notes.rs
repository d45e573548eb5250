//! What all steps serve: notes that everybody may read, the owners of a key may add, and their owner may
//! delete.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// One note.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Note {
    /// The text of the note.
    pub text: String,
}

/// A note behind its owner; `None` once it is deleted.
type Slot = Option<(String, Note)>;

/// The notes, by number.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<Slot>>>);

impl Notes {
    /// All notes that there are.
    pub fn all(&self) -> Vec<Note> {
        self.lock().iter().flatten().map(|(_, note)| note.clone()).collect()
    }

    /// Adds a note, and gives its number.
    pub fn add(&self, owner: &str, note: Note) -> usize {
        let mut notes = self.lock();
        notes.push(Some((owner.to_owned(), note)));
        notes.len() - 1
    }

    /// The owner of a note; `None` if there is no such note.
    pub fn owner(&self, number: usize) -> Option<String> {
        let notes = self.lock();
        let (owner, _) = notes.get(number)?.as_ref()?;
        Some(owner.clone())
    }

    /// Deletes a note. Returns whether it existed.
    pub fn delete(&self, number: usize) -> bool {
        self.lock().get_mut(number).and_then(Option::take).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The owner of a key.
pub fn owner_of(key: &[u8]) -> Option<&'static str> {
    match key {
        b"ada's key" => Some("ada"),
        b"bob's key" => Some("bob"),
        _ => None,
    }
}
