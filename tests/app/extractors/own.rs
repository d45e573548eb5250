//! The library's own extractors.

use policy_server::extract::{JsonRejection, QueryRejection};
use policy_tests::handlers::peer;

use super::*;

#[post("/json")]
#[auth(public)]
async fn json(Json(order): Json<Order>) -> Json<Order> {
    Json(order)
}

#[post("/json/optional")]
#[auth(public)]
async fn optional_json(order: Option<Json<Order>>) -> String {
    order.map_or_else(|| "none".to_owned(), |order| order.lamps.to_string())
}

#[post("/json/result")]
#[auth(public)]
async fn json_result(order: Result<Json<Order>, JsonRejection>) -> String {
    match order {
        Ok(order) => order.lamps.to_string(),
        Err(JsonRejection::Mismatch(mismatch)) => format!("mismatch at {}", mismatch.path()),
        Err(other) => other.to_string(),
    }
}

#[post("/json/passed-on")]
#[auth(public)]
async fn json_passed_on(order: Result<Json<Order>, JsonRejection>) -> Result<String, Problem> {
    Ok(order?.lamps.to_string())
}

#[get("/query")]
#[auth(public)]
async fn query(Query(order): Query<Order>) -> String {
    order.lamps.to_string()
}

#[get("/query/optional")]
#[auth(public)]
async fn optional_query(order: Option<Query<Order>>) -> String {
    order.map_or_else(|| "none".to_owned(), |order| order.lamps.to_string())
}

#[get("/query/result")]
#[auth(public)]
async fn query_result(order: Result<Query<Order>, QueryRejection>) -> String {
    order.map_or_else(|rejection| rejection.mismatch().to_string(), |_| "fine".to_owned())
}

#[get("/form")]
#[post("/form")]
#[delete("/form")]
#[auth(public)]
async fn form(Form(order): Form<Order>) -> Form<Order> {
    Form(order)
}

#[get("/state")]
#[auth(public)]
async fn state(State(shop): State<Shop>, State(db): State<Db>) -> String {
    format!("{} {}", shop.db.name, db.name)
}

#[get("/route/{id}")]
#[auth(public)]
async fn route(id: u8, route: MatchedRoute, peer: Option<PeerAddr>) -> String {
    format!("{id} {} {} {peer:?}", route.path(), route.handler())
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

fn all() -> TestClient {
    client(routes![
        json,
        optional_json,
        json_result,
        json_passed_on,
        query,
        optional_query,
        query_result,
        form,
        state,
        route,
        peer
    ])
}

async fn post_text(path: &str, media_type: &str, body: &'static str) -> TestResponse {
    all().post(path).header("content-type", media_type).body(body).send().await
}

#[tokio::test]
async fn json_goes_in_and_out() {
    let response = all().post("/json").json(&Order { lamps: 2 }).send().await;
    assert_eq!(response.header("content-type"), Some(JSON));
    assert_eq!(response.text(), r#"{"lamps":2}"#);
    let vendor = post_text("/json", "application/vnd.shop+json", r#"{"lamps":3}"#).await;
    assert_eq!(vendor.json::<Order>().lamps, 3);
}

#[tokio::test]
async fn json_is_refused_with_a_code() {
    for (media_type, body, status, code) in [
        ("text/plain", r#"{"lamps":2}"#, 415, "request.media-type"),
        (JSON, "", 400, "request.json-malformed"),
        (JSON, "{", 400, "request.json-malformed"),
        (JSON, r#"{"lamps":"two"}"#, 422, "request.json-mismatch"),
    ] {
        let response = post_text("/json", media_type, body).await;
        assert_eq!(refusal(&response), (status, code.to_owned()), "{body}");
    }
    let mismatch = post_text("/json", JSON, r#"{"lamps":"two"}"#).await.text();
    assert!(mismatch.contains(r#""pointer":"/lamps""#), "{mismatch}");
    assert_eq!(mismatch.matches("invalid type").count(), 1, "{mismatch}");
}

#[tokio::test]
async fn optional_json_is_none_without_a_content_type() {
    let client = all();
    let path = "/json/optional";
    assert_eq!(client.post(path).send().await.text(), "none");
    assert_eq!(client.post(path).json(&Order { lamps: 4 }).send().await.text(), "4");
    let wrong = client.post(path).header("content-type", "text/plain").send().await;
    assert_eq!(refusal(&wrong).0, 415);
}

#[tokio::test]
async fn a_handler_can_answer_a_rejection_itself() {
    let wrong = post_text("/json/result", JSON, r#"{"lamps":[]}"#).await;
    assert_eq!(wrong.text(), "mismatch at lamps");
    let wrong = post_text("/json/result", JSON, "{").await;
    assert_eq!((wrong.status().as_u16(), wrong.text().as_str()), (200, "the body is not JSON"));
    let wrong = all().get("/query/result?lamps=x").send().await;
    assert_eq!(wrong.text(), "`lamps`: invalid digit found in string");
}

#[tokio::test]
async fn a_handler_can_pass_a_rejection_on() {
    let wrong = post_text("/json/passed-on", JSON, "[]").await;
    assert_eq!(refusal(&wrong), (422, "request.json-mismatch".to_owned()));
}

/// RFC 9110 15.5.16: nothing decodes the body, so its bytes do not have its media type.
#[tokio::test]
async fn a_body_with_a_content_coding_is_refused() {
    for (path, media_type, body) in [("/json", JSON, r#"{"lamps":2}"#), ("/form", FORM, "lamps=2")]
    {
        let send = async |coding: &str| {
            let request = all().post(path).header("content-type", media_type);
            request.header("content-encoding", coding).body(body).send().await
        };
        for none in ["identity", "Identity, identity"] {
            assert_eq!(send(none).await.status(), 200, "{path} {none}");
        }
        for coding in ["gzip", "x", "identity, br"] {
            let wanted = (415, "request.content-coding".to_owned());
            assert_eq!(refusal(&send(coding).await), wanted, "{path} {coding}");
        }
    }
}

#[tokio::test]
async fn a_query_is_read_or_refused() {
    let client = all();
    assert_eq!(client.get("/query?lamps=2").send().await.text(), "2");
    for path in ["/query", "/query?lamps=x", "/query?lamps=1&lamps=2", "/query/optional?lamp"] {
        let response = client.get(path).send().await;
        assert_eq!(refusal(&response), (400, "request.query-invalid".to_owned()), "{path}");
    }
    assert_eq!(client.get("/query/optional").send().await.text(), "none");
    assert_eq!(client.get("/query/optional?lamps=3").send().await.text(), "3");
}

#[tokio::test]
async fn a_form_is_read_from_query_or_body() {
    let client = all();
    // GET and HEAD have no form in their body, whatever it claims to be.
    for media_type in ["text/plain", FORM] {
        let get = client.get("/form?lamps=2").header("content-type", media_type);
        assert_eq!(get.body("lamps=3").send().await.text(), "lamps=2", "{media_type}");
        let head = client.head("/form?lamps=2").header("content-type", media_type);
        assert_eq!(head.send().await.status(), 200, "{media_type}");
    }
    for request in [client.post("/form?lamps=2"), client.delete("/form?lamps=2")] {
        let response = request.form(&Order { lamps: 3 }).send().await;
        assert_eq!(response.text(), "lamps=3");
        assert_eq!(response.header("content-type"), Some(FORM));
    }
    for (response, wanted) in [
        (client.get("/form?lamps=x").send().await, (400, "request.query-invalid")),
        (client.post("/form").send().await, (415, "request.media-type")),
        (post_text("/form", FORM, "lamps=x").await, (422, "request.form-invalid")),
    ] {
        assert_eq!(refusal(&response), (wanted.0, wanted.1.to_owned()));
    }
    let mismatch = post_text("/form", FORM, "lamps=x").await.text();
    for part in [r#""field":"lamps""#, "invalid digit found in string"] {
        assert!(mismatch.contains(part), "{mismatch}");
    }
}

#[tokio::test]
async fn the_state_and_its_parts_are_there() {
    assert_eq!(all().get("/state").send().await.text(), "lamps lamps");
}

#[tokio::test]
async fn a_handler_learns_its_route() {
    let text = all().get("/route/7").send().await.text();
    assert_eq!(text, "7 /route/{id} app::extractors::own::route None");
}

#[tokio::test]
async fn a_peer_needs_a_socket() {
    let response = all().get("/peer").send().await;
    assert_eq!(refusal(&response), (500, "handler.failed".to_owned()));
}
