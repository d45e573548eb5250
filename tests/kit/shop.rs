//! The app that the tests use.

use std::convert::Infallible;

use axum::{
    extract::WebSocketUpgrade,
    response::{Sse, sse::Event},
};
use futures_util::{Stream, StreamExt, stream};
use policy_server::{prelude::*, session};
use serde::{Deserialize, Serialize};

/// The pages that may act with the cookies of their user.
const APP: CorsPolicy = CorsPolicy::origins(&["https://app.shop.example"]).credentials().build();

pub(crate) const ALICE: Login<&str> = Login { name: "alice", password: "a secret of alice" };

#[derive(Serialize, Deserialize)]
pub(crate) struct Login<T = String> {
    pub(crate) name: T,
    pub(crate) password: T,
}

#[post("/login")]
#[auth(public)]
async fn login(sessions: Sessions, Json(login): Json<Login>) -> Result<StatusCode, Problem> {
    if (&*login.name, &*login.password) != (ALICE.name, ALICE.password) {
        return Err(Problem::unauthorized().detail("no such user, or another password"));
    }
    sessions.login(login.name).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[get("/me")]
#[cors(origins = ["https://app.shop.example"], credentials, expose = ["x-visits"])]
#[auth(session)]
async fn me(me: Principal) -> impl IntoResponse {
    ([("x-total", "7"), ("x-visits", "3")], Json(me.subject().to_owned()))
}

/// For one page only, which is not the shop's.
#[get("/report")]
#[cors(origins = ["https://partner.example"])]
#[auth(public)]
async fn report() -> &'static str {
    "a report"
}

#[put("/orders/{id}")]
#[cors(origins = ["https://app.shop.example"], credentials, max_age = 600)]
#[auth(session)]
#[object(none = "a test of something else")]
async fn order(id: u64) -> String {
    id.to_string()
}

/// The target of forged forms.
#[post("/transfer")]
#[auth(session)]
async fn transfer() -> &'static str {
    "transferred"
}

#[get("/prices")]
#[jsonp(callback = "cb")]
#[auth(public)]
async fn prices() -> Json<[u8; 2]> {
    Json([1, 2])
}

#[get("/catalogue")]
#[cors(origins = ["*"])]
#[cache(public, max_age = 60)]
#[auth(public)]
async fn catalogue() -> &'static str {
    "lamps"
}

#[get("/page")]
#[auth(public)]
async fn page() -> ([(&'static str, &'static str); 1], &'static str) {
    ([("content-type", "text/html")], "<!doctype html><title>shop</title>")
}

/// A page that others may embed in a frame.
#[get("/widget")]
#[headers(frame = any)]
#[auth(optional, session)]
async fn widget(me: Option<Principal>) -> ([(&'static str, &'static str); 1], String) {
    let name = me.map_or("nobody".to_owned(), |me| me.subject().to_owned());
    ([("content-type", "text/html")], name)
}

#[get("/moved")]
#[cors(origins = ["https://app.shop.example"])]
#[auth(public)]
async fn moved() -> (StatusCode, [(&'static str, &'static str); 1]) {
    (StatusCode::FOUND, [("location", "https://files.shop.example/list")])
}

/// Sends one event and then stays open.
#[get("/news")]
#[auth(session)]
async fn news() -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let hello = stream::iter([Ok(Event::default().data("hello"))]);
    Sse::new(hello.chain(stream::pending()))
}

#[get("/socket")]
#[auth(session)]
async fn socket(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async |mut socket| while let Some(Ok(_)) = socket.recv().await {})
}

pub(crate) fn app() -> App<()> {
    App::new(())
        .public_origin("https://api.shop.example")
        .policies(Policies::new().cors(APP))
        .sessions(Sessions::memory())
        .routes(routes![login, me, report, order, transfer, session::csrf])
        .routes(routes![prices, catalogue, page, widget, moved, news, socket])
}
