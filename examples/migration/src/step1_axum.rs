//! Step 1: axum and tower-http, with an extractor that asks for a key.

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, FromRequestParts, Path, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    routing::{delete, get, post},
};
use tower_http::{cors::CorsLayer, set_header::SetResponseHeaderLayer};

use crate::notes::{Note, Notes, owner_of};

// ANCHOR: extractor
/// The owner of the key that a request carries.
#[derive(Debug)]
pub struct Owner(pub &'static str);

impl<S: Send + Sync> FromRequestParts<S> for Owner {
    type Rejection = (StatusCode, &'static str);

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let key = parts.headers.get("x-api-key");
        let owner = key.and_then(|key| owner_of(key.as_bytes()));
        owner.map(Self).ok_or((StatusCode::UNAUTHORIZED, "a key is missing"))
    }
}
// ANCHOR_END: extractor

async fn list(State(notes): State<Notes>) -> Json<Vec<Note>> {
    Json(notes.all())
}

async fn add(
    Owner(me): Owner,
    State(notes): State<Notes>,
    Json(note): Json<Note>,
) -> (StatusCode, Json<usize>) {
    (StatusCode::CREATED, Json(notes.add(me, note)))
}

// ANCHOR: remove
async fn remove(
    Owner(me): Owner,
    State(notes): State<Notes>,
    Path(number): Path<usize>,
) -> StatusCode {
    match notes.owner(number) {
        Some(owner) if owner == me => {
            notes.delete(number);
            StatusCode::NO_CONTENT
        }
        Some(_) => StatusCode::FORBIDDEN,
        None => StatusCode::NOT_FOUND,
    }
}
// ANCHOR_END: remove

async fn me(Owner(owner): Owner) -> &'static str {
    owner
}

/// The routes, without layers.
// ANCHOR: routes
pub fn routes(notes: Notes) -> Router {
    Router::new()
        .route("/notes", get(list))
        .route("/admin/notes", post(add))
        .route("/admin/notes/{number}", delete(remove))
        .route("/admin/me", get(me))
        .with_state(notes)
}
// ANCHOR_END: routes

/// The service.
// ANCHOR: service
pub fn service(notes: Notes) -> Router {
    let cors = CorsLayer::new()
        .allow_origin(HeaderValue::from_static("https://app.example"))
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([header::CONTENT_TYPE, HeaderName::from_static("x-api-key")]);
    let nosniff = SetResponseHeaderLayer::overriding(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    routes(notes).layer(DefaultBodyLimit::max(1024)).layer(nosniff).layer(cors)
}
// ANCHOR_END: service
