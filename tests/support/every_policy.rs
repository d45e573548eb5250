//! An app that uses every policy.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::StreamBody;
use policy_server::{
    Body, HeadersPolicy, http, prelude::*, response::ByteRanges, session::SameSite,
    tokens::SecretKey,
};
use serde::Deserialize;
use tower::service_fn;

/// The limit for bodies of all routes but one.
pub const BODY: usize = 2_000;

const SHARED: CorsPolicy =
    CorsPolicy::origins(&["https://app.shop.example", "https://*.partner.example"])
        .credentials()
        .headers(&["x-lamp"])
        .expose(&["etag"])
        .max_age(600)
        .build();
const EVERYBODY: CorsPolicy = CorsPolicy::origins(&["*"]).build();
const LISTS: CachePolicy = CachePolicy::public().max_age(60).vary(&["accept-language"]).build();
const OPEN: HeadersPolicy = HeadersPolicy::builder().corp("cross-origin").every_response().build();

/// Content that is long enough for range requests.
const PICTURE: [u8; 5_000] = [b'.'; 5_000];

#[get("/lamps")]
#[auth(public)]
async fn lamps(accept: Accept) -> Result<Response, Problem> {
    let chosen = accept.best(["application/json", "text/html", "text/csv"])?;
    Ok((chosen, ETag::version(1), "[1,2,3]").into_response())
}

#[get("/lamps/{id}")]
#[cache(public, max_age = 60, stale_while_revalidate = 30)]
#[auth(public)]
async fn lamp(id: u64) -> Result<impl IntoResponse, Problem> {
    if id > 999 {
        return Err(Problem::not_found().with("lamp", id));
    }
    Ok((ETag::version(id % 3), Json(id).etag()))
}

#[derive(Deserialize)]
struct Lamp {
    name: String,
    price: u32,
}

impl Validate for Lamp {
    fn validate(&self) -> Result<(), Invalid> {
        Invalid::new()
            .check(!self.name.is_empty(), "/name", "must not be empty")
            .check(self.price > 0, "/price", "must be at least 1")
            .result()
    }
}

#[post("/lamps")]
#[auth(public)]
async fn create(Valid(Json(lamp)): Valid<Json<Lamp>>) -> (StatusCode, String) {
    (StatusCode::CREATED, lamp.name)
}

#[put("/lamps/{id}")]
#[patch("/lamps/{id}")]
#[auth(public)]
async fn replace(id: u64, preconditions: Preconditions) -> Result<(ETag, Json<u64>), Problem> {
    preconditions.require_match()?.check(&ETag::version(id % 3))?;
    Ok((ETag::version(id % 3 + 1), Json(id)))
}

#[delete("/lamps/{id}")]
#[auth(session | token, optional)]
#[object(none = "a test of something else")]
async fn remove(id: u64, who: Option<Principal>) -> Result<StatusCode, Problem> {
    match (id, who) {
        (_, None) => Err(Problem::conflict().detail("who asks?")),
        (0, _) => Err(Problem::not_found()),
        _ => Ok(StatusCode::NO_CONTENT),
    }
}

#[post("/forms")]
#[auth(public)]
async fn form(Form(lamp): Form<Lamp>) -> String {
    format!("{}: {}", lamp.name, lamp.price)
}

#[derive(Deserialize)]
struct Page {
    page: Option<u32>,
    of: Option<String>,
}

#[get("/search")]
#[auth(public)]
#[limit(rate = "200/s")]
async fn search(Query(page): Query<Page>) -> Json<(Option<u32>, Option<String>)> {
    Json((page.page, page.of))
}

#[get("/picture")]
#[auth(public)]
#[cors(EVERYBODY)]
#[headers(OPEN)]
#[isolation(none)]
async fn picture() -> (ByteRanges, ETag, [(&'static str, &'static str); 1], &'static [u8]) {
    let modified = [("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")];
    (ByteRanges, ETag::version(1), modified, &PICTURE)
}

#[get("/stream")]
#[auth(public)]
async fn stream() -> Response {
    let pieces = ["a", "", "lamp", "!"].map(|piece| {
        Ok::<_, Infallible>(http_body::Frame::data(Bytes::from_static(piece.as_bytes())))
    });
    Body::new(StreamBody::new(futures_util::stream::iter(pieces))).into_response()
}

#[get("/page")]
#[auth(public)]
#[headers(HeadersPolicy::PAGES)]
#[cache(private)]
async fn page(nonce: CspNonce) -> Response {
    let html = format!("<!doctype html><script nonce={}></script>", nonce.as_str());
    ([("content-type", "text/html; charset=utf-8")], html).into_response()
}

#[get("/partners")]
#[auth(public)]
#[jsonp(callback = "callback")]
#[cors(none)]
async fn partners() -> Json<[&'static str; 2]> {
    Json(["a</script>", "b\u{2028}"])
}

#[post("/echo")]
#[auth(public)]
#[limit(body = "20 KiB", concurrency = 64)]
async fn echo(body: Bytes) -> Bytes {
    body
}

#[get("/mine")]
#[post("/mine")]
#[auth(session)]
async fn mine(session: Session, body: String) -> Result<String, Problem> {
    session.set("last", body.len())?;
    Ok(body)
}

#[get("/scoped")]
#[auth(token, scopes = ["read"])]
#[limit(rate = "1000/s per principal")]
async fn scoped(who: Principal) -> String {
    who.subject().to_owned()
}

#[get("/statuses/{status}")]
#[auth(public)]
async fn status(status: u16) -> Result<StatusCode, Problem> {
    let known = StatusCode::from_u16(status).ok().filter(|status| status.as_u16() >= 200);
    known.filter(|status| status.as_u16() < 600).ok_or_else(Problem::not_found)
}

#[get("/panics")]
#[auth(public)]
async fn panics() -> String {
    // A panic without its message on standard error.
    std::panic::resume_unwind(Box::new("the handler panics"))
}

#[get("/csrf")]
#[auth(public)]
async fn csrf(token: CsrfToken) -> CsrfToken {
    token
}

#[post("/login")]
#[auth(public)]
#[csrf(origin)]
async fn login(sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login("ada").await?)
}

#[post("/tokens")]
#[auth(public)]
async fn token(tokens: Tokens) -> Result<policy_server::tokens::IssuedTokens, CredentialError> {
    tokens.issue(&Identity::new("ada").scopes(["read"]))
}

pub fn app() -> App<()> {
    let files = service_fn(async |request: http::Request<Body>| {
        let path = request.uri().path().to_owned();
        Ok::<_, Infallible>(http::Response::new(path))
    });
    let secret = SecretKey::from_bytes(*b"\x8f0123456789abcdef0123456789abcde");
    let limits = Limits::NONE.body(BODY as u64).rate(Rate::per_second(1_000_000)).concurrency(256);
    App::new(())
        .policies(
            Policies::new().cors(SHARED).cache(LISTS).isolation(Isolation::SameSite).limits(limits),
        )
        .sessions(Sessions::memory().same_site(SameSite::None))
        .tokens(Tokens::hs256([("k1", secret)]).expect("a key"))
        .routes(routes![
            lamps, lamp, create, replace, remove, form, search, picture, stream, page, partners,
            echo, mine, scoped, status, panics, csrf, login, token,
        ])
        .mount("/files", Mount::new(files).public().policies(Policies::new().cors(EVERYBODY)))
}
