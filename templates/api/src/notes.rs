//! Notes, in memory: replace them by what your service is about.

use std::sync::{Arc, Mutex, PoisonError};

use policy_server::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{ApiKeys, PAGES};

/// A note, which the program that added it may change.
#[derive(Clone, Debug, Deserialize, Object, Serialize)]
#[rule(View = anyone)]
#[rule(Edit = owner)]
pub struct Note {
    #[object(key)]
    #[serde(skip)]
    number: usize,
    #[object(owner)]
    #[serde(skip)]
    program: String,
    text: String,
}

impl Load for Note {
    type Source = Notes;

    async fn load(number: &usize, _: &(), notes: &Notes) -> Result<Option<Self>, Problem> {
        Ok(notes.all().get(*number).cloned())
    }
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
pub async fn read(note: Allowed<Note>) -> Json<Note> {
    Json(note.into_inner())
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
    let number = notes.add(me.subject(), note.text);
    (StatusCode::CREATED, format!("{} added note {number}\n", me.subject()))
}

/// Other programs get 403 `object.denied`.
#[put("/notes/{number}")]
#[limit(body = "4 KiB", rate = "60/min per principal")]
#[auth(scheme = ApiKeys)]
pub async fn change(
    note: Allowed<Note, Edit>,
    State(notes): State<Notes>,
    Valid(Json(new)): Valid<Json<Note>>,
) -> StatusCode {
    notes.change(note.number, new.text);
    StatusCode::NO_CONTENT
}

impl Notes {
    fn all(&self) -> Vec<Note> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, program: &str, text: String) -> usize {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = notes.len();
        notes.push(Note { number, program: program.to_owned(), text });
        number
    }

    fn change(&self, number: usize, text: String) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(note) = notes.get_mut(number) {
            note.text = text;
        }
    }
}
