//! axum's extractors.

use axum::{
    Extension,
    extract::{FromRequestParts, Multipart, RawQuery, Request, WebSocketUpgrade},
};
use bytes::Bytes;
use http::{HeaderMap, Method, Uri, request::Parts};

use super::*;

#[post("/json")]
#[auth(public)]
async fn json(axum::Json(order): axum::Json<Order>) -> axum::Json<Order> {
    axum::Json(order)
}

#[post("/json/optional")]
#[auth(public)]
async fn optional_json(order: Option<axum::Json<Order>>) -> String {
    format!("{}", order.is_some())
}

#[post("/json/result")]
#[auth(public)]
async fn json_result(
    order: Result<axum::Json<Order>, axum::extract::rejection::JsonRejection>,
) -> String {
    format!("{}", order.is_ok())
}

#[get("/query")]
#[auth(public)]
async fn query(
    axum::extract::Query(order): axum::extract::Query<Order>,
    RawQuery(raw): RawQuery,
) -> String {
    format!("{} {}", order.lamps, raw.unwrap_or_default())
}

#[post("/form")]
#[auth(public)]
async fn form(axum::extract::Form(order): axum::extract::Form<Order>) -> String {
    order.lamps.to_string()
}

#[get("/state")]
#[auth(public)]
async fn state(axum::extract::State(db): axum::extract::State<Db>) -> &'static str {
    db.name
}

#[post("/multipart")]
#[auth(public)]
async fn multipart(mut multipart: Multipart) -> Result<String, axum::response::ErrorResponse> {
    let mut parts = Vec::new();
    while let Some(field) = multipart.next_field().await? {
        let name = field.name().unwrap_or_default().to_owned();
        parts.push(format!("{name}={}", field.text().await?));
    }
    Ok(parts.join(","))
}

#[get("/socket")]
#[auth(public)]
async fn socket(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async |_socket| {})
}

#[get("/extension")]
#[auth(public)]
async fn extension(Extension(number): Extension<u8>) -> String {
    number.to_string()
}

#[post("/bytes")]
#[auth(public)]
async fn head_and_bytes(method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> String {
    let kind = headers.get("x-kind").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    format!("{method} {uri} {kind} {}", body.len())
}

#[post("/text")]
#[auth(public)]
async fn text(body: String) -> String {
    body
}

#[post("/request")]
#[auth(public)]
async fn request(request: Request) -> Response {
    Response::new(request.into_body())
}

fn all() -> TestClient {
    client(routes![
        json,
        optional_json,
        json_result,
        query,
        form,
        state,
        multipart,
        socket,
        extension,
        head_and_bytes,
        text,
        request
    ])
}

#[tokio::test]
async fn json_works_and_its_rejections_are_problems() {
    let client = all();
    assert_eq!(
        client.post("/json").json(&Order { lamps: 2 }).send().await.json::<Order>().lamps,
        2
    );
    let untyped = client.post("/json").body("{}").send().await;
    assert_eq!(refusal(&untyped), (415, "request.media-type".to_owned()));
    let broken = client.post("/json").header("content-type", "application/json").body("{");
    let broken = broken.send().await;
    assert_eq!(refusal(&broken), (400, "request.rejected".to_owned()));
    let text = "Failed to parse the request body as JSON: EOF while parsing an object";
    assert!(broken.text().contains(text), "{}", broken.text());
    let shaped = client.post("/json").json(&"wrong").send().await;
    assert_eq!(refusal(&shaped), (422, "request.rejected".to_owned()));
    assert_eq!(client.post("/json/optional").send().await.text(), "false");
    let some = client.post("/json/optional").json(&Order { lamps: 2 }).send().await;
    assert_eq!(some.text(), "true");
    let wrong = client.post("/json/result").json(&"wrong").send().await;
    assert_eq!(wrong.text(), "false");
}

#[tokio::test]
async fn query_form_and_state_work() {
    let client = all();
    assert_eq!(client.get("/query?lamps=2").send().await.text(), "2 lamps=2");
    let wrong = client.get("/query?lamps=two").header("accept", "text/plain").send().await;
    assert_eq!(
        (wrong.status().as_u16(), wrong.header("content-type")),
        (400, Some("text/plain; charset=utf-8"))
    );
    assert!(wrong.text().contains("request.rejected"), "{}", wrong.text());
    assert_eq!(client.post("/form").form(&Order { lamps: 3 }).send().await.text(), "3");
    assert_eq!(client.get("/state").send().await.text(), "lamps");
}

#[tokio::test]
async fn multipart_works() {
    let body = "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n\
                --X\r\nContent-Disposition: form-data; name=\"b\"; filename=\"f\"\r\n\r\n2\r\n--X--\r\n";
    let request = all().post("/multipart").body(body);
    let response = request.header("content-type", "multipart/form-data; boundary=X").send();
    assert_eq!(response.await.text(), "a=1,b=2");
}

#[tokio::test]
async fn a_websocket_needs_a_connection_that_can_be_upgraded() {
    assert_eq!(all().get("/socket").send().await.status(), 400);
    let request = all()
        .get("/socket")
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let response = request.send().await;
    assert_eq!(refusal(&response), (426, "request.rejected".to_owned()));
}

#[tokio::test]
async fn an_extension_comes_from_a_layer() {
    let app = App::new(Shop { db: Db { name: "x" } }).routes(routes![extension]);
    assert_eq!(app.layer(Extension(9u8)).test().get("/extension").send().await.text(), "9");
}

#[tokio::test]
async fn parts_of_the_request_are_there() {
    let response = all().post("/bytes?q").header("x-kind", "k").body("hello").send().await;
    assert_eq!(response.text(), "POST /bytes?q k 5");
    assert_eq!(all().post("/text").body("hello").send().await.text(), "hello");
    assert_eq!(all().post("/text").body(b"\xff".to_vec()).send().await.status(), 400);
    assert_eq!(all().post("/request").body("hello").send().await.text(), "hello");
}

/// An extractor of an application, which is refused with a status alone, or with JSON.
struct RateRefusal;

impl<S: Send + Sync> FromRequestParts<S> for RateRefusal {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        match parts.uri.query() {
            Some("json") => Err((StatusCode::FORBIDDEN, Json("no")).into_response()),
            _ => Err((StatusCode::UNAUTHORIZED, [("www-authenticate", "Own")]).into_response()),
        }
    }
}

#[get("/refused")]
#[auth(public)]
async fn refused(_refused: RateRefusal) {}

#[tokio::test]
async fn rejections_without_a_form_of_their_own_are_problems() {
    let client = client(routes![refused]);
    let bare = client.get("/refused").send().await;
    assert_eq!(refusal(&bare), (401, "request.rejected".to_owned()));
    assert_eq!(bare.header("www-authenticate"), Some("Own"));
    assert!(!bare.text().contains("detail"));
    let json = client.get("/refused?json").send().await;
    assert_eq!((json.status().as_u16(), &*json.text()), (403, "\"no\""));
}

#[post("/upload")]
#[auth(public)]
async fn upload(mut form: policy_server::extract::multipart::Multipart) -> Result<String, Problem> {
    let mut sizes = Vec::new();
    while let Some(field) = form.next_field().await? {
        sizes.push(field.bytes().await?.len().to_string());
    }
    Ok(sizes.join(","))
}

#[tokio::test]
async fn errors_of_forms_with_files_are_problems_by_a_question_mark() {
    let client = client(routes![upload]);
    let form = |body: String| {
        let request = client.post("/upload").body(body);
        request.header("content-type", "multipart/form-data; boundary=X").send()
    };
    let part = "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n";
    assert_eq!(form(format!("{part}123\r\n--X--\r\n")).await.text(), "3");
    let broken = form(format!("{part}123")).await;
    assert_eq!(refusal(&broken), (400, "request.rejected".to_owned()));
    assert!(broken.text().contains("incomplete data"), "{}", broken.text());
    let large = format!("{part}{}\r\n--X--\r\n", "x".repeat(1001));
    let large = client.post("/upload").body(policy_server::Body::from_stream(
        futures_util::stream::iter([Ok::<_, std::convert::Infallible>(large)]),
    ));
    let large = large.header("content-type", "multipart/form-data; boundary=X").send().await;
    assert_eq!(refusal(&large), (413, "request.body-too-large".to_owned()));
    let no_form = client.post("/upload").body("a=1").send().await;
    assert_eq!(refusal(&no_form), (400, "request.rejected".to_owned()));
}
