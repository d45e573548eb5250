mod gaps;

use http::HeaderValue;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    AuthError, Group, OpenApi, Scheme, SchemeRequest,
    extract::PageQuery,
    prelude::*,
    response::{Created, NoContent, Page},
    schemars::{self, JsonSchema},
    tokens::SecretKey,
};

/// A lamp.
#[derive(Deserialize, JsonSchema, Serialize)]
struct Lamp {
    /// How much it takes.
    watts: u32,
    #[serde(default)]
    note: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "its schema is read")]
struct Filter {
    /// The first letters of the name.
    #[serde(default)]
    name: Option<String>,
    watts: u32,
    color: Option<Color>,
}

#[derive(Deserialize, JsonSchema)]
enum Color {
    Red,
    White,
}

/// Lists the lamps.
///
/// They are sorted by name.
#[get("/lamps")]
#[auth(session | token, scopes = ["lamps:read"])]
async fn list(_query: Query<Filter>) -> Json<Vec<Lamp>> {
    Json(Vec::new())
}

#[get("/pages")]
#[auth(public)]
async fn pages(page: PageQuery<u64>) -> Result<Page<Lamp>, Problem> {
    page.paginate(Vec::new(), |_| 0)
}

#[post("/lamps")]
#[auth(session | token, scopes = ["lamps:write"])]
#[limit(rate = "5/min")]
async fn create(Json(lamp): Json<Lamp>) -> Created<Json<Lamp>> {
    Created::at("/lamps/1", Json(lamp))
}

#[get("/lamps/{id}")]
#[auth(public)]
async fn read(id: u64) -> Result<(ETag, Json<Lamp>), Problem> {
    Err(Problem::not_found().code("lamps.unknown").with("id", id))
}

#[delete("/lamps/{id}", id = "remove_lamp")]
#[auth(session, roles = ["owner"], fresh = "5m")]
#[object(none = "a test of something else")]
async fn delete(id: u64, _user: Principal) -> NoContent {
    let _ = id;
    NoContent
}

#[get("/opaque/{name}")]
#[auth(public)]
async fn opaque(name: String) -> impl IntoResponse {
    name
}

fn app() -> App<()> {
    App::new(())
        .public_origin("https://lamps.example")
        .sessions(Sessions::memory())
        .tokens(Tokens::hs256(SecretKey::from_bytes([7; 32])).unwrap())
        .routes(routes![list, pages, create, read, delete, opaque])
}

fn document() -> OpenApi {
    app().openapi().unwrap()
}

fn at(document: &OpenApi, pointer: &str) -> Value {
    let found = document.as_json().pointer(pointer);
    found.unwrap_or_else(|| panic!("{pointer} is not in {document}")).clone()
}

fn statuses(document: &OpenApi, path: &str, method: &str) -> Vec<String> {
    let responses = &document.as_json()["paths"][path][method]["responses"];
    responses.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn a_route_lists_the_refusals_that_it_can_meet_and_no_others() {
    let document = document();
    for (path, method, expected) in [
        ("/lamps", "get", &["200", "400", "401", "403", "500", "503", "default"][..]),
        (
            "/lamps",
            "post",
            &[
                "201", "400", "401", "403", "408", "413", "415", "422", "429", "500", "503",
                "default",
            ],
        ),
        ("/lamps/{id}", "delete", &["204", "400", "401", "403", "500", "503", "default"]),
        // A handler that returns `Problem` may choose any.
        ("/pages", "get", &["200", "400", "4XX", "500", "503", "5XX", "default"]),
        (
            "/lamps/{id}",
            "get",
            &["200", "304", "400", "412", "4XX", "500", "503", "5XX", "default"],
        ),
        ("/opaque/{name}", "get", &["2XX", "3XX", "4XX", "500", "503", "5XX", "default"]),
    ] {
        assert_eq!(statuses(&document, path, method), expected, "{method} {path}");
    }
    let name = at(&document, "/paths/~1lamps~1{id}/delete/responses/401/$ref");
    let name = name.as_str().unwrap().trim_start_matches('#');
    let codes = at(&document, &format!("{name}/content/application~1problem+json/schema/allOf/1"));
    let expected = json!(["auth.credentials-missing", "auth.login-too-old"]);
    assert_eq!(codes["properties"]["code"]["enum"], expected);
}

/// An object whose version a client may state.
#[derive(Object)]
#[rule(View = anyone)]
#[rule(Edit = owner)]
struct Shade {
    #[object(key)]
    id: u64,
    #[object(owner)]
    user: String,
    #[object(version)]
    version: u64,
}

impl Load for Shade {
    type Source = ();

    async fn load(_: &u64, _: &(), _: &()) -> Result<Option<Self>, Problem> {
        Ok(None)
    }
}

#[get("/shades/{id}")]
#[put("/shades/{id}")]
#[auth(session)]
async fn shade(shade: Allowed<Shade, Edit>) -> Json<u64> {
    Json(shade.id)
}

/// The server compares the version before the handler runs, so no argument tells of it.
#[test]
fn a_change_of_an_object_with_a_version_may_state_one() {
    let app = App::new(()).sessions(Sessions::memory()).routes(routes![shade]);
    let document = app.openapi().unwrap();
    for (method, is_change) in [("get", false), ("put", true)] {
        let operation = &document.as_json()["paths"]["/shades/{id}"][method];
        let parameters = operation["parameters"].as_array().unwrap();
        let states_one = parameters.iter().any(|parameter| parameter["name"] == "If-Match");
        let is_refused = operation["responses"].get("412").is_some();
        assert_eq!((states_one, is_refused), (is_change, is_change), "{operation}");
    }
}

/// A handler that does not list its problems may have others with a status that gates have, too.
#[test]
fn the_codes_of_a_status_are_all_that_clients_can_get() {
    let document = document();
    let codes = |operation: &str, status: u16| {
        let response = format!("/paths/{operation}/responses/{status}/$ref");
        let name = at(&document, &response);
        let name = name.as_str().unwrap().trim_start_matches('#').to_owned();
        at(&document, &format!("{name}/content/application~1problem+json/schema/allOf/1"))
    };
    let closed = codes("~1lamps/post", 400);
    let listed = closed["properties"]["code"]["enum"].as_array().unwrap();
    assert!(listed.contains(&json!("request.json-malformed")), "{closed}");
    assert!(listed.contains(&json!("wire.path-encoding")), "what every request can meet: {closed}");
    assert_eq!(closed["required"], json!(["code"]));
    let open = codes("~1lamps~1{id}/get", 412);
    let known = json!({ "type": "string", "examples": ["request.precondition-failed"] });
    assert_eq!((&open["properties"]["code"], &open["required"]), (&known, &Value::Null));
}

#[test]
fn alternatives_are_separate_and_what_is_needed_together_is_one() {
    let document = document();
    for (operation, expected) in [
        ("~1lamps/get", json!([{ "session": [] }, { "token": ["lamps:read"] }])),
        ("~1lamps/post", json!([{ "session": [], "csrfToken": [] }, { "token": ["lamps:write"] }])),
        ("~1pages/get", json!([])),
    ] {
        assert_eq!(at(&document, &format!("/paths/{operation}/security")), expected);
    }
    let cookie = at(&document, "/components/securitySchemes/session/name");
    assert_eq!(cookie, "__Host-sid");
}

mod keys {
    use std::marker::PhantomData;

    use crate::{AuthError, Identity, Scheme, SchemeRequest};

    pub(super) struct ApiKeys<T>(pub(super) PhantomData<T>);

    impl Scheme for ApiKeys<u8> {
        const AMBIENT: bool = false;

        async fn authenticate(
            &self,
            _: &mut SchemeRequest<'_>,
        ) -> Result<Option<Identity>, AuthError> {
            Ok(None)
        }
    }
}

/// A scheme that states this challenge.
struct Asks(Option<&'static str>);

impl Scheme for Asks {
    const AMBIENT: bool = true;

    fn challenge(&self) -> Option<HeaderValue> {
        self.0.map(HeaderValue::from_static)
    }

    async fn authenticate(&self, _: &mut SchemeRequest<'_>) -> Result<Option<Identity>, AuthError> {
        Ok(None)
    }
}

mod aliased {
    pub(super) type Asks = super::keys::ApiKeys<u8>;
}

/// RFC 9110 11.1: a challenge names the scheme of its credentials. Nothing else says where they are.
#[test]
fn an_own_scheme_is_described_by_its_challenge() {
    use std::marker::PhantomData;

    #[get("/stated")]
    #[auth(scheme = Asks)]
    async fn stated() -> NoContent {
        NoContent
    }

    #[get("/inherited")]
    #[auth(group)]
    async fn inherited() -> NoContent {
        NoContent
    }

    #[get("/aliased")]
    #[auth(scheme = aliased::Asks)]
    async fn aliased_scheme() -> NoContent {
        NoContent
    }

    let described = |app: App<()>, (scheme, is_known): (&str, bool)| {
        let document = app.openapi().unwrap();
        let found = at(&document, "/components/securitySchemes/Asks");
        assert_eq!((&found["type"], &found["scheme"]), (&json!("http"), &json!(scheme)));
        let is_said = found["description"].as_str().unwrap().contains("does not state where");
        assert_ne!(is_said, is_known, "{found}");
    };
    for (challenge, expected) in [
        (Some("Basic realm=\"orders\", charset=\"UTF-8\""), ("basic", true)),
        (Some("Negotiate"), ("negotiate", true)),
        (Some(", Digest nonce=\"1\", Basic realm=\"orders\""), ("digest", true)),
        (Some("realm=\"orders\""), ("Asks", false)),
        (None, ("Asks", false)),
    ] {
        let app = || App::new(()).scheme(Asks(challenge));
        let group = Group::new().auth(AuthRequirement::scheme::<Asks>());
        described(app().routes(routes![stated]), expected);
        described(app().group("/group", group.routes(routes![inherited])), expected);
    }
    // Of two types with one name, nothing is known.
    let both = App::new(()).scheme(Asks(Some("Basic"))).scheme(keys::ApiKeys(PhantomData::<u8>));
    described(both.routes(routes![stated, aliased_scheme]), ("Asks", false));
}

/// OpenAPI 3.1.1 4.8.7 and RFC 9110 11.1 take no colons and no angle brackets.
#[test]
fn the_name_of_a_scheme_is_valid_in_a_document() {
    use std::marker::PhantomData;

    #[get("/priced")]
    #[auth(scheme = keys::ApiKeys<u8>)]
    async fn priced() -> NoContent {
        NoContent
    }

    let app = App::new(()).scheme(keys::ApiKeys(PhantomData::<u8>)).routes(routes![priced]);
    let document = app.openapi().unwrap();
    let security = at(&document, "/paths/~1priced/get/security");
    assert_eq!(security, json!([{ "ApiKeys.u8": [] }]));
    let scheme = at(&document, "/components/securitySchemes/ApiKeys.u8/scheme");
    assert_eq!(scheme, "ApiKeys.u8");
}

#[test]
fn parameters_and_bodies_are_those_of_the_types() {
    let document = document();
    let parameters = at(&document, "/paths/~1lamps/get/parameters");
    let color = json!({ "$ref": "#/components/schemas/Color" });
    assert_eq!(
        parameters,
        json!([
            { "name": "color", "in": "query", "schema": { "anyOf": [color] } },
            {
                "name": "name", "in": "query", "description": "The first letters of the name.",
                "schema": { "type": "string" },
            },
            {
                "name": "watts", "in": "query", "required": true,
                "schema": { "type": "integer", "format": "uint32", "minimum": 0 },
            },
        ])
    );
    let body = at(&document, "/paths/~1lamps/post/requestBody");
    assert_eq!(body["required"], true);
    let schema = &body["content"]["application/json"]["schema"];
    assert_eq!(schema, &json!({ "$ref": "#/components/schemas/LampInput" }));
    let required = |name: &str| at(&document, &format!("/components/schemas/{name}/required"));
    assert_eq!(
        (required("Lamp"), required("LampInput")),
        (json!(["watts", "note"]), json!(["watts"]))
    );
    let headers = at(&document, "/paths/~1lamps/post/responses/201/headers");
    let names: Vec<_> = headers.as_object().unwrap().keys().collect();
    assert_eq!(names, ["Location", "RateLimit", "RateLimit-Policy"]);
}

/// The handler reads it, so the request is served without it, too.
#[test]
fn a_body_that_is_streamed_is_in_the_document() {
    #[put("/files/{name}")]
    #[auth(public)]
    async fn store(_name: String, _body: crate::Body) {}

    #[get("/files/{name}")]
    #[post("/files/{name}")]
    #[auth(public)]
    async fn pass(_name: String, _request: axum_core::extract::Request) {}

    let document = App::new(()).routes(routes![store, pass]).openapi().unwrap();
    let document = document.complete().unwrap();
    let body = json!({ "content": { "*/*": { "schema": {} } }, "required": false });
    for (method, body) in [("put", &body), ("post", &body), ("get", &Value::Null)] {
        assert_eq!(&document.as_json()["paths"]["/files/{name}"][method]["requestBody"], body);
    }
}

#[test]
fn texts_are_those_of_the_documentation() {
    let list = at(&document(), "/paths/~1lamps/get");
    assert_eq!(list["summary"], "Lists the lamps.");
    assert_eq!(list["description"], "They are sorted by name.");
    assert_eq!(list["operationId"], "list");
    assert_eq!(at(&document(), "/paths/~1lamps~1{id}/delete/operationId"), "remove_lamp");
}

/// A manifest has the headers of its routes once, by a name that a document could not resolve.
#[test]
fn the_policy_of_a_route_has_its_headers() {
    let policy = at(&document(), "/paths/~1pages/get/x-policy");
    assert_eq!(policy["auth"], "public");
    assert_eq!(policy["headers"]["every"]["x-content-type-options"], "nosniff", "{policy}");
}

#[test]
fn what_is_unknown_is_a_gap() {
    let gaps = document().gaps().to_vec();
    let found: Vec<_> = gaps.iter().map(|gap| (gap.code(), gap.value().unwrap())).collect();
    assert_eq!(found, [("openapi.response-unknown", "impl IntoResponse")]);
    let error = document().complete().unwrap_err().to_string();
    assert!(error.contains("tests::opaque"), "{error}");
}

#[test]
fn a_csrf_token_is_json() {
    let app = App::new(()).sessions(Sessions::memory()).routes(routes![crate::session::csrf]);
    let document = app.openapi().unwrap().complete().unwrap();
    let content = at(&document, "/paths/~1csrf/get/responses/200/content");
    let reference = json!({ "$ref": "#/components/schemas/CsrfToken" });
    assert_eq!(content, json!({ "application/json": { "schema": reference } }));
}

#[cfg(feature = "sse")]
#[test]
fn a_stream_of_events_has_no_gap() {
    use std::convert::Infallible;

    use axum_core::response::AppendHeaders;
    use futures_util::stream::{Stream, empty};

    use crate::response::sse::{Event, Sse};

    #[get("/events")]
    #[auth(public)]
    async fn events() -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
        Sse::new(empty())
    }

    #[get("/maybe")]
    #[auth(public)]
    async fn maybe() -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
        Ok(Sse::new(empty()))
    }

    #[get("/more")]
    #[auth(public)]
    async fn more() -> (AppendHeaders<[(&'static str, &'static str); 1]>, Json<Lamp>) {
        (AppendHeaders([("x-more", "1")]), Json(Lamp { watts: 1, note: None }))
    }

    let document = App::new(()).routes(routes![events, maybe, more]).openapi().unwrap();
    let document = document.complete().unwrap();
    for (path, media_type) in [
        ("events", "text/event-stream"),
        ("maybe", "text/event-stream"),
        ("more", "application/json"),
    ] {
        let content = at(&document, &format!("/paths/~1{path}/get/responses/200/content"));
        assert!(content.get(media_type).is_some(), "{path}: {content}");
    }
}

#[test]
fn a_media_type_that_the_handler_chooses_is_not_that_of_the_content() {
    use http::HeaderMap;

    use crate::extract::ChosenMediaType;

    #[get("/report")]
    #[auth(public)]
    async fn report(accept: Accept) -> Result<(ChosenMediaType, String), Problem> {
        Ok((accept.best(["text/csv", "text/html"])?, String::new()))
    }

    #[get("/fields")]
    #[auth(public)]
    async fn fields() -> (ETag, HeaderMap, Json<Lamp>) {
        (ETag::version(1), HeaderMap::new(), Json(Lamp { watts: 1, note: None }))
    }

    #[get("/nothing")]
    #[auth(public)]
    async fn nothing() -> (HeaderMap, NoContent) {
        (HeaderMap::new(), NoContent)
    }

    let document = App::new(()).routes(routes![report, fields, nothing]).openapi().unwrap();
    let document = document.complete().unwrap();
    let content = at(&document, "/paths/~1report/get/responses/200/content");
    assert_eq!(content, json!({ "*/*": { "schema": { "type": "string" } } }));
    let schema = at(&document, "/paths/~1fields/get/responses/200/content/*~1*/schema");
    assert_eq!(schema, json!({ "$ref": "#/components/schemas/Lamp" }));
    let response = at(&document, "/paths/~1nothing/get/responses/204");
    assert_eq!(response.get("content"), None);
}

/// It has no gap. The framework limits and closes it, whatever the handler does with a failure.
#[cfg(feature = "ws")]
#[test]
fn a_web_socket_is_one_in_a_result_or_a_tuple_too() {
    use http::HeaderMap;
    use policy_core::outcome::ArgumentKind;

    use crate::extract::ws::{WebSocketUpgrade, WebSocketUpgradeRejection};

    #[get("/socket")]
    #[auth(public)]
    async fn socket(upgrade: WebSocketUpgrade) -> impl IntoResponse {
        upgrade.on_upgrade(async |_| ())
    }

    #[get("/result")]
    #[auth(public)]
    async fn result(
        upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    ) -> impl IntoResponse {
        upgrade.map(|upgrade| upgrade.on_upgrade(async |_| ()))
    }

    #[get("/tuple")]
    #[auth(public)]
    async fn tuple(
        (_addr, _fields, upgrade): (ClientAddr, HeaderMap, WebSocketUpgrade),
    ) -> impl IntoResponse {
        upgrade.on_upgrade(async |_| ())
    }

    let app = App::new(()).routes(routes![socket, result, tuple]);
    let manifest = app.manifest();
    let document = app.openapi().unwrap().complete().unwrap();
    for path in ["/socket", "/result", "/tuple"] {
        let takes = &manifest.route("GET", path).unwrap().handler.takes;
        assert!(takes.contains(&ArgumentKind::WebSocket), "{path}: {takes:?}");
        assert_eq!(statuses(&document, path, "get")[0], "101", "{path}");
    }
}

#[test]
fn the_order_of_routes_changes_nothing() {
    let turned = App::new(())
        .public_origin("https://lamps.example")
        .sessions(Sessions::memory())
        .tokens(Tokens::hs256(SecretKey::from_bytes([7; 32])).unwrap())
        .routes(routes![opaque, delete, read, create, pages, list]);
    assert_eq!(turned.openapi().unwrap().to_json(), document().to_json());
}

mod other {
    use super::*;

    #[derive(JsonSchema, Serialize)]
    pub(crate) struct Lamp(u8);

    #[get("/others")]
    #[auth(public)]
    pub(crate) async fn list() -> Json<Lamp> {
        Json(Lamp(1))
    }
}

/// Both are found at once.
#[test]
fn two_types_and_two_operations_of_one_name_are_errors() {
    #[get("/twice", id = "list")]
    #[auth(public)]
    async fn twice() -> NoContent {
        NoContent
    }

    let named = app().routes(routes![other::list]);
    let error = named.openapi().unwrap_err().to_string();
    assert!(error.contains("`Lamp`") && error.contains("openapi.schema-names"), "{error}");
    assert!(!error.contains("openapi.operation-ids"), "modules tell them apart: {error}");
    let error = app().routes(routes![twice]).openapi();
    // The other one has no stated id, and gets another name.
    assert!(error.is_ok());
    #[get("/thrice", id = "list")]
    #[auth(public)]
    async fn thrice() -> NoContent {
        NoContent
    }
    let error = app().routes(routes![twice, thrice]).openapi().unwrap_err().to_string();
    assert!(error.contains("`list`") && error.contains("openapi.operation-ids"), "{error}");
}

/// The parameters of a page are no type of the app.
#[test]
fn an_app_may_have_a_type_named_as_the_fields_of_a_page() {
    #[derive(Deserialize, JsonSchema)]
    struct PageFields {
        title: String,
    }

    #[put("/title")]
    #[auth(public)]
    async fn title(Json(fields): Json<PageFields>) -> String {
        fields.title
    }

    let document = app().routes(routes![title]).openapi().unwrap();
    let pointer = "/components/schemas/PageFields/properties/title/type";
    assert_eq!(at(&document, pointer), "string");
    let parameters = at(&document, "/paths/~1pages/get/parameters");
    let names: Vec<_> = parameters.as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["cursor", "limit"]);
}

#[test]
fn paths_that_differ_in_names_are_one() {
    #[get("/a/{x}/{y}")]
    #[auth(public)]
    async fn first(x: u64, y: String) -> String {
        format!("{x}{y}")
    }

    #[post("/a/{y}/{x}")]
    #[auth(public)]
    async fn second(y: u64, x: String) -> String {
        format!("{y}{x}")
    }

    let document = App::new(()).routes(routes![second, first]).openapi().unwrap();
    assert_eq!(document.as_json()["paths"].as_object().unwrap().len(), 1);
    for method in ["get", "post"] {
        let parameters = at(&document, &format!("/paths/~1a~1{{x}}~1{{y}}/{method}/parameters"));
        let found =
            |index: usize| (&parameters[index]["name"], &parameters[index]["schema"]["type"]);
        assert_eq!(found(0), (&json!("x"), &json!("integer")), "{method}");
        assert_eq!(found(1), (&json!("y"), &json!("string")), "{method}");
    }
}

/// An app may serve one handler in two versions of its interface.
#[test]
fn a_handler_in_two_groups_is_two_operations() {
    let group = || Group::new().routes(routes![pages]);
    let app = App::new(()).group("/v1", group()).group("/v2", group());
    let document = app.openapi().unwrap();
    for version in ["v1", "v2"] {
        let id = at(&document, &format!("/paths/~1{version}~1pages/get/operationId"));
        assert_eq!(id, format!("tests_pages_get_{version}_pages"));
    }
}

mod elsewhere {
    use super::*;

    #[delete("/lamps/{id}", id = "remove_lamp")]
    #[auth(session, roles = ["owner"], fresh = "5m")]
    #[object(none = "a test of something else")]
    pub(crate) async fn renamed(id: u64, _user: Principal) -> NoContent {
        let _ = id;
        NoContent
    }

    #[get("/pages")]
    #[auth(public)]
    pub(crate) async fn pages(page: PageQuery<u64>) -> Result<Page<Lamp>, Problem> {
        page.paginate(Vec::new(), |_| 0)
    }
}

#[test]
fn neither_the_place_of_a_handler_nor_the_name_behind_a_stated_id_changes_anything() {
    let before = App::new(()).sessions(Sessions::memory()).routes(routes![pages, delete]);
    let moved = routes![elsewhere::renamed, elsewhere::pages];
    let after = App::new(()).sessions(Sessions::memory()).routes(moved);
    let [before, after] = [before, after].map(|app| app.openapi().unwrap().to_json());
    assert!(before.contains("remove_lamp") && before.contains("\"pages\""));
    assert_eq!(before, after);
}

#[test]
fn a_view_has_what_its_routes_need() {
    let view = app().openapi_for(|route| route.path == "/lamps/{id}").unwrap();
    let paths: Vec<_> = view.as_json()["paths"].as_object().unwrap().keys().collect();
    assert_eq!(paths, ["/lamps/{id}"]);
    let schemas: Vec<_> =
        view.as_json()["components"]["schemas"].as_object().unwrap().keys().collect();
    assert_eq!(schemas, ["Lamp", "Problem"]);
    assert!(!view.to_json().contains("\"token\""), "no route of it takes tokens");
}
