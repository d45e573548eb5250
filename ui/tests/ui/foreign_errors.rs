//! An error of others is no response by itself.
use policy_server::prelude::*;

#[get("/1")]
#[auth(public)]
async fn question_mark() -> Result<String, Problem> {
    Ok(std::fs::read_to_string("motd")?)
}

#[get("/2")]
#[auth(public)]
async fn converted() -> Result<String, Problem> {
    std::fs::read_to_string("motd").map_err(Problem::from)
}

fn main() {
    let _ = App::new(()).routes(routes![question_mark, converted]);
}
