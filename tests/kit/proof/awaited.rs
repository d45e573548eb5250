//! An app that is made by a future.

use std::time::Duration;

use policy_server::prelude::*;

#[get("/")]
#[auth(public)]
async fn index(State(greeting): State<String>) -> String {
    panic!("handlers do not run in proofs: {greeting}")
}

async fn app() -> App<String> {
    // Needs a runtime with a timer, as a pool of connections does.
    tokio::time::sleep(Duration::from_millis(1)).await;
    App::new("hello".to_owned()).routes(routes![index])
}

policy_server::policy_tests!(of_future: app());
