//! Who may call has to be said, once, in words that this version enforces.
use policy_server::prelude::*;

#[get("/missing")]
async fn missing() {}

#[get("/empty")]
#[auth()]
async fn empty() {}

#[auth]
#[get("/nothing")]
async fn nothing() {}

#[get("/equals")]
#[auth = "public"]
async fn equals() {}

#[get("/session")]
#[auth(session)]
async fn session() {}

#[get("/token")]
#[auth(token, scheme = ApiKeys)]
async fn token() {}

#[get("/either")]
#[auth(session | token, optional, scopes = ["orders:read"], roles = ["admin"], fresh = "10m")]
async fn either() {}

#[get("/unknown")]
#[auth(cookie)]
async fn unknown() {}

#[get("/twice")]
#[auth(public, public)]
async fn twice() {}

#[get("/second")]
#[auth(public)]
#[auth(public)]
async fn second() {}

#[get("/text")]
#[auth("public")]
async fn text() {}

fn main() {
    let _ = App::new(()).routes(routes![
        missing, empty, nothing, equals, session, token, either, unknown, twice, second, text
    ]);
}
