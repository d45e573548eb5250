#[get("/", crate = my::server)]
#[auth(public)]
async fn home(method: Method) {}
