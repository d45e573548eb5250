const UPLOADS: Limits = Limits::NONE.body(1 << 30);

#[get("/orders")]
#[auth(session)]
#[limit(body = "1 MiB", timeout = "500ms", rate = "100/min per principal", concurrency = 64)]
async fn all() {}

#[get("/search")]
#[auth(public)]
#[limit(rate = "5/s")]
async fn one() {}

#[get("/live")]
#[auth(session)]
#[limit(message = "64 KiB", silence = "5m", sockets = 1000, sockets_per_caller = 5)]
async fn live() {}

#[get("/drafts")]
#[auth(session)]
#[limit(misses = "20/min")]
async fn objects() {}

#[post("/uploads")]
#[auth(session)]
#[limit(UPLOADS)]
async fn shared() {}
