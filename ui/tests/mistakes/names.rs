//! Everyday mistakes in names, and in the list of routes.
use policy_server::prelude::*;

#[get("/a")]
#[auth(public)]
async fn orders() {}

async fn without_attribute() {}

struct Service;

mod other {
    use policy_server::prelude::*;

    #[get("/b")]
    #[auth(public)]
    async fn private() {}
}

#[get("/c")]
#[auth(public)]
async fn misspelt_type(name: Sate<u8>) {}

fn main() {
    let _ = App::new(()).routes(routes![order]);
    let _ = App::new(()).routes(routes![without_attribute]);
    let _ = App::new(()).routes(routes!["orders"]);
    let _ = App::new(()).routes(routes![orders()]);
    let _ = App::new(()).routes(routes![Service::list]);
    let _ = App::new(()).routes(routes![other::private]);
    let _ = App::new(()).routes(routes![orders; 2]);
}
