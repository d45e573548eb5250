//! The OpenAPI document of an app that uses everything: validators of others accept it.

use std::{convert::Infallible, fs, time::UNIX_EPOCH};

use bytes::Bytes;
use futures_util::stream::{Stream, empty};
use policy_server::{
    Caller, Group, OpenApi, OpenApiSettings, RequestId,
    extract::{
        Accept, ChosenMediaType, ClientAddr, CspNonce, CsrfToken, Decoded, MatchedRoute, PageQuery,
        PeerAddr, SentTarget, cookie::CookieJar, multipart::Multipart, ws::WebSocketUpgrade,
    },
    http::{HeaderMap, Method, Uri},
    prelude::*,
    response::{
        ByteRanges, Created, LastModified, NoContent, Page, TaggedJson,
        sse::{Event, Sse},
    },
    schemars::{self, JsonSchema},
    tokens::{IssuedTokens, Issuer, SecretKey},
};
use policy_tests::{caller_scheme::CallerScheme, folder::Folder, openapi};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Shape {
    /// A lamp on a table.
    Table(Table),
    Ceiling {
        /// In millimetres.
        height: u32,
    },
    Other,
}

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
struct Table {
    #[serde(default)]
    feet: Option<u8>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
struct Lamp {
    name: String,
    /// What it takes.
    #[serde(default = "usual")]
    watts: f64,
    shape: Shape,
    /// Lamps that are connected to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    next: Vec<Lamp>,
}

fn usual() -> f64 {
    8.5
}

impl Validate for Lamp {
    fn validate(&self) -> Result<(), Invalid> {
        Invalid::new().result()
    }
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "its schema is read")]
struct Filter {
    #[serde(default)]
    name: Option<String>,
    kind: Option<Kind>,
    limit: u16,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// For work.
    WorkLamp,
    Other,
}

/// Lists the lamps.
///
/// The newest are first.
#[get("/lamps")]
#[auth(session | token, scopes = ["lamps:read"])]
#[cache(private, max_age = 30)]
#[limit(rate = "10/min per principal", concurrency = 8, timeout = "5s")]
async fn list(
    _query: Valid<Query<Choice>>,
    _caller: Option<Caller>,
) -> Result<TaggedJson<Vec<Lamp>>, Problem> {
    Err(Problem::not_found())
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "its schema is read")]
struct Choice {
    limit: Option<u8>,
}

impl Validate for Choice {
    fn validate(&self) -> Result<(), Invalid> {
        Invalid::new().result()
    }
}

#[post("/lamps")]
#[auth(session | token, scopes = ["lamps:write"], roles = ["owner"], fresh = "5m")]
#[cors(origins = ["https://app.example"], credentials)]
#[limit(rate = "5/min", body = "1 MiB")]
async fn add(lamp: Valid<Json<Lamp>>) -> Created<(ETag, Json<Lamp>)> {
    let Valid(Json(lamp)) = lamp;
    Created::at("/lamps/1", (ETag::version(1), Json(lamp)))
}

#[put("/lamps/{id}", id = "replace_lamp")]
#[auth(token, issuers = ["own", "https://login.example"])]
#[object(none = "a test of something else")]
async fn replace(id: u64, _preconditions: Preconditions, lamp: Decoded<Json<Lamp>>) -> Json<Lamp> {
    let _ = id;
    let Decoded(lamp) = lamp;
    lamp
}

/// Another name for the parameter than the other routes have.
#[delete("/lamps/{lamp}")]
#[auth(session, scopes = ["lamps:write"])]
#[csrf(origin)]
#[object(none = "a test of something else")]
async fn remove(lamp: u64, sessions: Sessions) -> Result<NoContent, Problem> {
    sessions.revoke_others().await?;
    Err(Problem::not_found().with("lamp", lamp))
}

#[get("/pages")]
#[auth(public)]
#[isolation(same_site)]
async fn pages(page: PageQuery<u64, 50>) -> Result<Page<Lamp>, Problem> {
    page.paginate(Vec::new(), |_| 0)
}

#[get("/script")]
#[auth(public)]
#[jsonp(callback = "cb")]
async fn script() -> Json<Table> {
    Json(Table { feet: None })
}

#[get("/files/{*path}")]
#[auth(session, optional)]
#[object(none = "a test of something else")]
async fn file(path: String) -> (LastModified, (ByteRanges, Bytes)) {
    (LastModified::from(UNIX_EPOCH), (ByteRanges, path.into()))
}

#[post("/files")]
#[auth(public)]
async fn upload(_file: Multipart) -> StatusCode {
    StatusCode::ACCEPTED
}

#[put("/raw/{name}")]
#[auth(public)]
async fn raw(name: Kept, content: Bytes) -> Vec<u8> {
    let Kept(_name) = name;
    content.into()
}

/// A parameter without a schema.
struct Kept(String);

impl std::str::FromStr for Kept {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

#[get("/search")]
#[post("/search")]
#[auth(public)]
async fn search(_form: Form<Filter>) -> String {
    String::new()
}

#[get("/events")]
#[auth(session | ticket)]
async fn events() -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    Sse::new(empty())
}

#[get("/socket")]
#[auth(session)]
async fn socket(upgrade: WebSocketUpgrade) -> impl IntoResponse {
    upgrade.on_upgrade(async |_| ())
}

#[post("/tokens")]
#[auth(public)]
async fn tokens(tokens: Tokens) -> Result<IssuedTokens, CredentialError> {
    tokens.login("nobody").await
}

#[get("/session")]
#[auth(public)]
async fn session(_session: Session, token: CsrfToken) -> CsrfToken {
    token
}

#[get("/negotiated")]
#[auth(public)]
async fn negotiated(accept: Accept) -> Result<(ChosenMediaType, Json<u8>), Problem> {
    Ok((accept.best(["application/json"])?, Json(1)))
}

/// Takes what no client has to be told of.
#[get("/head")]
#[auth(scheme = CallerScheme, scopes = ["keys"])]
async fn head(
    _who: (ClientAddr, PeerAddr),
    _route: (MatchedRoute, SentTarget),
    _id: (RequestId, CspNonce),
    _parts: (Method, Uri),
    jar: CookieJar,
    headers: HeaderMap,
) -> (CookieJar, (HeaderMap, String)) {
    (jar, (headers, String::new()))
}

#[query("/lamps")]
#[auth(public)]
async fn find(filter: Json<Lamp>) -> Json<Lamp> {
    filter
}

fn app() -> App<()> {
    let tokens = Tokens::hs256(SecretKey::from_bytes([7; 32])).expect("a key");
    let issuer = Issuer::new("https://login.example").audience("lamps");
    App::new(())
        .public_origin("https://lamps.example")
        .openapi_settings(OpenApiSettings::new("Lamps", "1.4.0").description("All of *lamps*."))
        .sessions(Sessions::memory())
        .tokens(tokens.accept(issuer))
        .scheme(CallerScheme)
        .routes(routes![list, add, replace, remove, pages, script, file, upload, raw, search])
        .routes(routes![events, socket, tokens, session, negotiated, head])
        .group("/v2", Group::new().routes(routes![add, pages]))
        .health("/healthz")
}

/// Validates a document by a file.
fn validate(document: &OpenApi) {
    let folder = Folder::new().expect("a folder");
    let file = folder.path().join("openapi.json");
    fs::write(&file, document.to_json()).expect("a file");
    openapi::validate(&file);
}

#[test]
#[ignore = "needs openapi-spec-validator and Redocly: `cargo xtask test` runs it"]
fn validators_accept_the_document_of_an_app_that_uses_everything() {
    validate(&app().openapi().expect("a document"));
}

/// Its document has version 3.2.
#[test]
#[ignore = "needs openapi-spec-validator and Redocly: `cargo xtask test` runs it"]
fn validators_accept_the_document_of_an_app_with_query() {
    let document = App::new(()).routes(routes![find]).openapi().expect("a document");
    assert_eq!(document.as_json()["openapi"], "3.2.0");
    validate(&document);
}
