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
async fn add(State(notes): State<Notes>, Json(note): Json<Note>) -> (StatusCode, Json<usize>) {
    (StatusCode::CREATED, Json(notes.add(note)))
}

#[delete("/admin/notes/{number}")]
#[auth(scheme = ApiKeys)]
#[object(none = "the owner of any key may delete every note")]
async fn remove(number: usize, State(notes): State<Notes>) -> Result<StatusCode, Problem> {
    if notes.delete(number) { Ok(StatusCode::NO_CONTENT) } else { Err(Problem::not_found()) }
}

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
// ANCHOR_END: handlers
