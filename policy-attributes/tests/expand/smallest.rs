#[get("/")]
#[auth(public)]
async fn home() {}
