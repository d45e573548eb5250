//! The error of a handler is a response, or converts to a problem.
use policy_server::prelude::*;

struct Silent;

struct ShopError;

impl From<ShopError> for Problem {
    fn from(_: ShopError) -> Self {
        Self::conflict()
    }
}

type ShopResult<T> = Result<T, Silent>;

#[get("/1")]
#[auth(public)]
async fn converts() -> Result<String, ShopError> {
    Err(ShopError)
}

#[get("/2")]
#[auth(public)]
async fn silent() -> Result<String, Silent> {
    Err(Silent)
}

#[get("/3")]
#[auth(public)]
async fn alias() -> ShopResult<String> {
    Err(Silent)
}

#[get("/4")]
#[auth(public)]
async fn foreign() -> std::io::Result<String> {
    std::fs::read_to_string("motd")
}

#[get("/5")]
#[auth(public)]
async fn opaque() -> Result<impl IntoResponse, Silent> {
    Ok("")
}

#[get("/6")]
#[auth(public)]
async fn no_response() -> Result<Silent, ShopError> {
    Ok(Silent)
}

#[get("/7")]
#[auth(public)]
async fn missing_from() -> Result<String, ShopError> {
    Ok(std::fs::read_to_string("motd")?)
}

fn main() {
    let _ = App::new(()).routes(routes![
        converts, silent, alias, foreign, opaque, no_response, missing_from
    ]);
}
