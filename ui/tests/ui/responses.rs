//! What a handler returns is reported in its signature.
use policy_server::prelude::*;

struct Page;

#[get("/1")]
#[auth(public)]
async fn page() -> Page {
    Page
}

#[get("/2")]
#[auth(public)]
async fn result() -> Result<String, Page> {
    Ok(String::new())
}

#[get("/3")]
#[auth(public)]
async fn not_send() -> String {
    let text = std::rc::Rc::new(1);
    std::future::ready(()).await;
    text.to_string()
}

fn main() {
    let _ = App::new(()).routes(routes![page, result, not_send]);
}
