//! An API that pages of some origins may read and others may not, and the pages that show it.
//!
//! Run `cargo run --example quickstart` and open the addresses that it prints.

mod arrivals;
mod notes;
mod pages;

use notes::{Note, Notes};
use policy_server::prelude::*;

/// The origins whose pages may read this API. To a browser `http://127.0.0.1:8082` is another
/// origin than `http://localhost:8081`, although both are this machine.
const PAGES: &[&str] = &["http://localhost:*"];

/// For responses without a route, such as 404 for an unknown path.
const DEFAULT: CorsPolicy = CorsPolicy::origins(PAGES).build();

/// A page may read the header `etag`. It cannot see `x-served-by`, which is not exposed.
#[get("/notes/{id}")]
#[cors(origins = PAGES, expose = ["etag"])]
#[auth(public)]
async fn note(id: u64, State(notes): State<Notes>) -> Result<impl IntoResponse, Problem> {
    let note = notes.find(id)?;
    Ok(([("etag", note.tag()), ("x-served-by", "quickstart".to_owned())], Json(note)))
}

/// Browsers send a preflight first; the response to it is derived from the attributes.
#[put("/notes/{id}")]
#[cors(origins = PAGES, headers = ["x-editor"], max_age = 600)]
#[auth(public)]
async fn write(id: u64, State(notes): State<Notes>, Json(note): Json<Note>) -> Json<Note> {
    Json(notes.store(id, note))
}

/// For the pages of one shop only; ours cannot read it.
#[get("/report")]
#[cors(origins = ["https://app.shop.example"])]
#[auth(public)]
async fn report() -> &'static str {
    "12 orders today"
}

fn api(arrivals: &arrivals::Arrivals) -> App<Notes> {
    App::new(Notes::default())
        .policies(Policies::new().cors(DEFAULT))
        .routes(routes![note, write, report])
        .layer(arrivals.layer())
}

#[tokio::main]
async fn main() -> Result<(), Report> {
    let arrivals = arrivals::Arrivals::default();
    let api = api(&arrivals);
    // Without the pages: `api.serve("127.0.0.1:8080").await`.
    pages::serve_beside(api, arrivals).await?;
    Ok(())
}

// `cargo test --example quickstart --features testing` runs these.
#[cfg(all(test, feature = "testing"))]
policy_server::policy_tests!(api(&arrivals::Arrivals::default()));
