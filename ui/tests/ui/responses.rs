//! What a handler returns is reported in its signature, at the part that is wrong.
use policy_server::prelude::*;

struct Page;

#[get("/1")]
#[auth(public)]
async fn page() -> Page {
    Page
}

#[get("/2")]
#[auth(public)]
async fn bad_error() -> Result<String, Page> {
    Ok(String::new())
}

#[get("/3")]
#[auth(public)]
async fn bad_value() -> Result<Page, Problem> {
    Ok(Page)
}

#[get("/4/{name}")]
#[auth(public)]
async fn error_of_others(name: String) -> Result<String, std::io::Error> {
    std::fs::read_to_string(name)
}

#[get("/5")]
#[auth(public)]
async fn json() -> Json<Page> {
    Json(Page)
}

#[get("/6")]
#[auth(public)]
async fn json_or_error() -> Result<Json<Vec<Page>>, Problem> {
    Ok(Json(Vec::new()))
}

#[get("/7")]
#[auth(public)]
async fn tuple() -> (StatusCode, Page) {
    (StatusCode::OK, Page)
}

#[get("/8")]
#[auth(public)]
async fn not_send() -> String {
    let text = std::rc::Rc::new(1);
    std::future::ready(()).await;
    text.to_string()
}

#[get("/9")]
#[auth(public)]
async fn lock() {
    let lock = std::sync::Mutex::new(1);
    let guard = lock.lock();
    std::future::ready(()).await;
    drop(guard);
}

fn main() {
    let _ = App::new(()).routes(routes![
        page, bad_error, bad_value, error_of_others, json, json_or_error, tuple, not_send, lock
    ]);
}
