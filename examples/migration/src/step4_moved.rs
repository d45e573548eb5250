//! Step 4: handlers move out of the router, one after the other. The rest stays mounted.

use policy_server::prelude::*;

use crate::{
    notes::{Note, Notes},
    step2_layer::{BODY, PAGES},
    step3_mounted::{ApiKeys, admin},
};

// ANCHOR: handlers
#[get("/notes")]
#[auth(public)]
async fn list(State(notes): State<Notes>) -> Json<Vec<Note>> {
    Json(notes.all())
}

/// Its path is below the mount, and nearer.
#[get("/admin/me")]
#[auth(scheme = ApiKeys)]
async fn me(me: Principal) -> String {
    me.subject().to_owned()
}

/// The service.
pub fn app(notes: Notes) -> App<Notes> {
    App::new(notes.clone())
        .policies(Policies::new().cors(PAGES).headers(HeadersPolicy::API).limits(BODY))
        .scheme(ApiKeys)
        .routes(routes![list, me])
        .mount("/admin", admin(notes))
}
// ANCHOR_END: handlers
