//! Step 5: no router is left.

use policy_server::prelude::*;

use crate::{
    notes::{Note, Notes},
    step3_mounted::ApiKeys,
};

// ANCHOR: handlers
#[get("/notes")]
#[auth(public)]
async fn list(State(notes): State<Notes>) -> Json<Vec<Note>> {
    Json(notes.all())
}

#[post("/admin/notes")]
#[auth(scheme = ApiKeys)]
async fn add(
    me: Principal,
    State(notes): State<Notes>,
    Json(note): Json<Note>,
) -> (StatusCode, Json<usize>) {
    (StatusCode::CREATED, Json(notes.add(me.subject(), note)))
}
// ANCHOR_END: handlers

// ANCHOR: object
/// A note that a route names.
#[derive(Debug, Object)]
#[rule(View = anyone)]
#[rule(Delete = owner)]
struct OwnedNote {
    #[object(key)]
    number: usize,
    #[object(owner)]
    owner: String,
}

impl Load for OwnedNote {
    type Source = Notes;

    async fn load(number: &usize, (): &(), notes: &Notes) -> Result<Option<Self>, Problem> {
        Ok(notes.owner(*number).map(|owner| Self { number: *number, owner }))
    }
}

#[delete("/admin/notes/{number}")]
#[auth(scheme = ApiKeys)]
async fn remove(note: Allowed<OwnedNote, Delete>, State(notes): State<Notes>) -> StatusCode {
    notes.delete(note.number);
    StatusCode::NO_CONTENT
}
// ANCHOR_END: object

// ANCHOR: app

#[get("/admin/me")]
#[auth(scheme = ApiKeys)]
async fn me(me: Principal) -> String {
    me.subject().to_owned()
}

const PAGES: CorsPolicy =
    CorsPolicy::origins(&["https://app.example"]).headers(&["x-api-key"]).build();

/// The service.
pub fn app(notes: Notes) -> App<Notes> {
    App::new(notes)
        .policies(
            Policies::new().cors(PAGES).headers(HeadersPolicy::API).limits(Limits::NONE.body(1024)),
        )
        .scheme(ApiKeys)
        .routes(routes![list, add, remove, me])
}
// ANCHOR_END: app
