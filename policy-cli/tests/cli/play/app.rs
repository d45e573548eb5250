// Compiled by the macros, and read by the playground.

#[get("/prices")]
#[cors(origins = ["*"], expose = ["x-total"])]
#[auth(public)]
#[cache(public, max_age = 60, vary = ["accept"])]
async fn prices() -> Json<u8> {
    Json(1)
}

#[get("/orders/{id}")]
#[cors(origins = ["https://*.shop.example"], credentials, max_age = 60)]
#[auth(session)]
#[object(none = "a test of something else")]
async fn order(id: u64) -> Json<u64> {
    Json(id)
}

#[post("/orders")]
#[cors(origins = ["https://app.shop.example"], credentials, headers = ["x-version"])]
#[auth(session, roles = ["clerk"])]
#[csrf(origin)]
#[limit(body = "16 KiB")]
async fn add(content: String) -> Json<usize> {
    Json(content.len())
}

#[post("/transfers")]
#[auth(session)]
#[csrf(exempt = "what a form can do")]
#[headers(corp = "same-origin")]
async fn transfer(content: String) -> Json<usize> {
    Json(content.len())
}

#[delete("/orders/{id}")]
#[auth(session, roles = ["clerk"], fresh = "10m")]
#[isolation(same_site)]
#[object(none = "a test of something else")]
async fn remove(id: u64) -> Json<u64> {
    Json(id)
}

#[get("/reports")]
#[auth(token, scopes = ["reports:read"])]
#[cache(private, max_age = 10)]
async fn reports() -> Json<u8> {
    Json(1)
}

#[get("/me")]
#[auth(session | token, optional)]
async fn me(caller: Option<Principal>) -> Json<bool> {
    Json(caller.is_some())
}

#[get("/quotes")]
#[jsonp(callback = "call")]
#[auth(public)]
async fn quotes() -> Json<u8> {
    Json(1)
}

#[put("/notes/{id}")]
#[cors(origins = ["https://app.shop.example"])]
#[auth(token)]
#[object(none = "a test of something else")]
async fn note(id: u64, content: String) -> Json<u64> {
    Json(id + content.len() as u64)
}
