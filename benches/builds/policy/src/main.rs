//! The first example of the README.

use policy_server::prelude::*;

#[get("/users/{id}")]
#[cors(origins = ["https://app.shop.example"], expose = ["etag"], max_age = 600)]
#[auth(public)]
async fn user(id: u64) -> Result<Json<String>, Problem> {
    match id {
        1 => Ok(Json("Ada".to_owned())),
        _ => Err(Problem::not_found().detail("there is only user 1")),
    }
}

#[tokio::main]
async fn main() -> Result<(), Report> {
    App::new(()).routes(routes![user]).serve("127.0.0.1:8080").await?;
    Ok(())
}
