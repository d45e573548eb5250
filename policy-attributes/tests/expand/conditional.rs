#[get("/debug")]
#[cors(origins = ["https://a.example", "https://a.example"])]
#[auth(public)]
#[cfg(feature = "debug")]
#[allow(deprecated)]
async fn debug() {}
