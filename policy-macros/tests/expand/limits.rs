const UPLOADS: Limits = Limits::NONE.body(1 << 30);

#[get("/orders")]
#[auth(session)]
#[limit(body = "1 MiB", timeout = "500ms", rate = "100/min per principal", concurrency = 64)]
async fn all() {}

#[get("/search")]
#[auth(public)]
#[limit(rate = "5/s")]
async fn one() {}

#[post("/uploads")]
#[auth(session)]
#[limit(UPLOADS)]
async fn shared() {}
