//! Step 3: the router is mounted in an app, which asks who calls.

use axum::{
    Json, Router,
    extract::{Path, State},
    http::{Method, StatusCode},
    routing::{delete, get, post},
};
use policy_server::{
    App, AuthError, AuthRequirement, HeadersPolicy, Identity, Mount, Policies, Principal, Scheme,
    SchemeRequest,
};

use crate::{
    notes::{Note, Notes, owner_of},
    step2_layer::{BODY, PAGES},
};

// ANCHOR: scheme
/// Callers with a key, in place of the extractor.
#[derive(Debug)]
pub struct ApiKeys;

impl Scheme for ApiKeys {
    /// No browser sends the key automatically, so no page can forge a request with it.
    const AMBIENT: bool = false;

    async fn authenticate(
        &self,
        request: &mut SchemeRequest<'_>,
    ) -> Result<Option<Identity>, AuthError> {
        let Some(key) = request.headers().get("x-api-key") else { return Ok(None) };
        let owner = owner_of(key.as_bytes()).ok_or(AuthError::Invalid)?;
        Ok(Some(Identity::new(owner)))
    }
}
// ANCHOR_END: scheme

async fn list(State(notes): State<Notes>) -> Json<Vec<Note>> {
    Json(notes.all())
}

async fn add(
    me: Principal,
    State(notes): State<Notes>,
    Json(note): Json<Note>,
) -> (StatusCode, Json<usize>) {
    (StatusCode::CREATED, Json(notes.add(me.subject(), note)))
}

async fn remove(
    me: Principal,
    State(notes): State<Notes>,
    Path(number): Path<usize>,
) -> StatusCode {
    match notes.owner(number) {
        Some(owner) if owner == me.subject() => {
            notes.delete(number);
            StatusCode::NO_CONTENT
        }
        Some(_) => StatusCode::FORBIDDEN,
        None => StatusCode::NOT_FOUND,
    }
}

// ANCHOR: handler
async fn me(me: Principal) -> String {
    me.subject().to_owned()
}
// ANCHOR_END: handler

// ANCHOR: app
/// What everybody may read.
fn public(notes: Notes) -> Mount {
    Mount::new(Router::new().route("/", get(list)).with_state(notes)).strip_prefix().public()
}

/// What the owner of a key may do.
pub fn admin(notes: Notes) -> Mount {
    let router = Router::new()
        .route("/notes", post(add))
        .route("/notes/{number}", delete(remove))
        .route("/me", get(me))
        .with_state(notes);
    Mount::new(router)
        .strip_prefix()
        .methods([Method::GET, Method::HEAD, Method::POST, Method::DELETE])
        .auth(AuthRequirement::scheme::<ApiKeys>())
}

/// The service.
pub fn app(notes: Notes) -> App<()> {
    App::new(())
        .policies(Policies::new().cors(PAGES).headers(HeadersPolicy::API).limits(BODY))
        .scheme(ApiKeys)
        .mount("/notes", public(notes.clone()))
        .mount("/admin", admin(notes))
}
// ANCHOR_END: app
