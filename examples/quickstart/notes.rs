//! The data of the API: notes, in memory.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use policy_server::prelude::*;
use serde::{Deserialize, Serialize};

/// A note as it is transferred.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Note {
    text: String,
    /// Incremented by each change; set by the server.
    #[serde(default)]
    revision: u64,
}

impl Note {
    /// An entity tag (RFC 9110 8.8.3), which changes with the note.
    pub(crate) fn tag(&self) -> String {
        format!("\"{}\"", self.revision)
    }
}

/// All notes.
#[derive(Clone)]
pub(crate) struct Notes(Arc<Mutex<BTreeMap<u64, Note>>>);

impl Notes {
    pub(crate) fn find(&self, id: u64) -> Result<Note, Problem> {
        let missing = || Problem::not_found().detail(format!("there is no note {id}"));
        self.lock().get(&id).cloned().ok_or_else(missing)
    }

    pub(crate) fn store(&self, id: u64, note: Note) -> Note {
        let mut notes = self.lock();
        let revision = notes.get(&id).map_or(1, |old| old.revision + 1);
        let note = Note { revision, ..note };
        notes.insert(id, note.clone());
        note
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Note>> {
        // Every change is a single insertion, so a panic elsewhere leaves no partial change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Notes {
    fn default() -> Self {
        let note = Note { text: "water the plants".to_owned(), revision: 1 };
        Self(Arc::new(Mutex::new(BTreeMap::from([(1, note)]))))
    }
}
