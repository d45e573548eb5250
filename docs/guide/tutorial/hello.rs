//! Says hello.

use policy_server::prelude::*;

#[get("/hello/{name}")]
#[auth(public)]
async fn hello(name: String) -> String {
    format!("hello, {name}\n")
}

#[tokio::main]
async fn main() -> Result<(), Report> {
    tracing_subscriber::fmt::init();
    App::new(()).routes(routes![hello]).serve("127.0.0.1:8080").await?;
    Ok(())
}
