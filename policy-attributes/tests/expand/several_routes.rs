#[get("/a/{id}")]
#[route(PURGE, "VERSION-CONTROL", "/b/{id}")]
#[auth(public)]
async fn r#move(r#id: u32) {}
