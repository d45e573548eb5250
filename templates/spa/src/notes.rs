//! The notes of each user, in memory: replace them by what your service is about.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use policy_server::prelude::*;
use serde::Deserialize;

/// The state of the handlers.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<BTreeMap<String, Vec<String>>>>);

/// What the form of the page sends.
#[derive(Deserialize)]
pub struct Note {
    text: String,
}

#[get("/notes")]
#[auth(session)]
pub async fn list(me: Principal, State(notes): State<Notes>) -> Json<Vec<String>> {
    Json(notes.list(me.subject()))
}

/// An unsafe request with a session: it needs the CSRF token, which `web/app.js` sends.
#[post("/notes")]
#[limit(body = "4 KiB", rate = "60/min per principal")]
#[auth(session)]
pub async fn add(
    me: Principal,
    State(notes): State<Notes>,
    Json(note): Json<Note>,
) -> Result<Json<Vec<String>>, Invalid> {
    Invalid::new().check(!note.text.trim().is_empty(), "/text", "is empty").result()?;
    notes.add(me.subject(), note.text);
    Ok(Json(notes.list(me.subject())))
}

impl Notes {
    fn list(&self, user: &str) -> Vec<String> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.get(user).cloned().unwrap_or_default()
    }

    fn add(&self, user: &str, note: String) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.entry(user.to_owned()).or_default().push(note);
    }
}
