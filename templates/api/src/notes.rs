//! Notes, in memory: replace them by what your service is about.

use std::sync::{Arc, Mutex, PoisonError};

use policy_server::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{ApiKeys, PAGES};

/// A note.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Note {
    text: String,
}

impl Validate for Note {
    fn validate(&self) -> Result<(), Invalid> {
        Invalid::new().check(!self.text.is_empty(), "/text", "is empty").result()
    }
}

/// The state of the handlers.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<Note>>>);

/// For everybody, and for the pages of one origin.
#[get("/notes")]
#[cors(origins = PAGES, expose = ["etag"], max_age = 600)]
#[cache(public, max_age = 10)]
#[auth(public)]
pub async fn list(State(notes): State<Notes>) -> impl IntoResponse {
    // With a tag: who has the list gets 304 in place of it.
    Json(notes.all()).etag()
}

#[get("/notes/{number}")]
#[cors(origins = PAGES, expose = ["etag"], max_age = 600)]
#[auth(public)]
pub async fn read(number: usize, State(notes): State<Notes>) -> Result<Json<Note>, Problem> {
    let note = notes.all().get(number).cloned();
    note.map(Json).ok_or_else(|| Problem::not_found().detail(format!("there is no note {number}")))
}

/// For programs with a key: each may add 60 notes a minute, of 4 KiB.
#[post("/notes")]
#[limit(body = "4 KiB", rate = "60/min per principal")]
#[auth(scheme = ApiKeys)]
pub async fn add(
    me: Principal,
    State(notes): State<Notes>,
    Valid(Json(note)): Valid<Json<Note>>,
) -> (StatusCode, String) {
    let number = notes.add(note);
    (StatusCode::CREATED, format!("{} added note {number}\n", me.subject()))
}

impl Notes {
    fn all(&self) -> Vec<Note> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, note: Note) -> usize {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push(note);
        notes.len() - 1
    }
}
