//! Extractors and responses in annotated handlers: the library's own, axum's and axum-extra's.

use policy_server::{
    prelude::*,
    testing::{TestClient, TestResponse},
};
use serde::{Deserialize, Serialize};

#[derive(Clone)]
struct Db {
    name: &'static str,
}

#[derive(Clone)]
struct Shop {
    db: Db,
}

impl FromRef<Shop> for Db {
    fn from_ref(shop: &Shop) -> Self {
        shop.db.clone()
    }
}

#[derive(Debug, Deserialize, Serialize)]
struct Order {
    lamps: u32,
}

fn client(routes: Vec<policy_server::Route<Shop>>) -> TestClient {
    App::new(Shop { db: Db { name: "lamps" } })
        .limits(Limits::NONE.body(1000))
        .routes(routes)
        .test()
}

/// Status and code of a problem.
fn refusal(response: &TestResponse) -> (u16, String) {
    #[derive(Deserialize)]
    struct Sent {
        status: u16,
        code: String,
    }
    assert_eq!(response.header("content-type"), Some("application/problem+json"));
    let sent: Sent = response.json();
    assert_eq!(response.status(), sent.status);
    (sent.status, sent.code)
}

mod path_parameters {
    use super::*;

    #[get("/orders/{id}")]
    #[auth(public)]
    async fn order(id: u64) -> String {
        id.to_string()
    }

    #[get("/names/{name}")]
    #[auth(public)]
    async fn name(name: String) -> String {
        name
    }

    #[get("/files/{owner}/{*rest}")]
    #[auth(public)]
    async fn file(rest: String, owner: char, State(db): State<Db>) -> String {
        format!("{owner}:{rest}:{}", db.name)
    }

    #[tokio::test]
    async fn parameters_are_typed_arguments() {
        let client = client(routes![order, name, file]);
        for (path, text) in [
            ("/orders/7", "7"),
            ("/names/b%C3%B6b", "böb"),
            ("/names/a%2Bb%3a", "a+b:"),
            ("/names/a%2525", "a%25"),
            ("/names/a+b", "a+b"),
            ("/files/x/a/b.txt", "x:a/b.txt:lamps"),
        ] {
            let response = client.get(path).send().await;
            assert_eq!(response.text(), text, "{path}");
        }
    }

    #[tokio::test]
    async fn a_parameter_takes_an_encoded_slash_only_if_it_says_so() {
        #[get("/projects/{name:slashes}/plan")]
        #[auth(public)]
        async fn plan(name: String) -> String {
            name
        }

        let client = client(routes![name, file, plan]);
        for path in ["/names/a%2Fb", "/names/a%5cb", "/files/x/a%2Fb", "/files/%2f/a"] {
            let response = client.get(path).send().await;
            let expected = (400, "wire.path-encoded-slash".to_owned());
            assert_eq!(refusal(&response), expected, "{path}");
        }
        assert_eq!(client.get("/projects/a%2Fb%5cc/plan").send().await.text(), "a/b\\c");
    }

    #[tokio::test]
    async fn a_parameter_that_does_not_parse_is_named() {
        let client = client(routes![order, name, file]);
        for (path, name) in
            [("/orders/seven", "id"), ("/orders/-1", "id"), ("/files/xy/a", "owner")]
        {
            let response = client.get(path).send().await;
            assert_eq!(refusal(&response), (400, "request.parameter-invalid".to_owned()));
            let problem: serde_json::Value = response.json();
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.starts_with(&format!("`{name}`: ")), "{detail}");
        }
    }
}

mod own {
    use std::convert::Infallible;

    use axum_core::body::Body;
    use bytes::Bytes;
    use futures_util::stream;
    use http_body::Frame;
    use http_body_util::StreamBody;
    use policy_server::extract::{JsonRejection, QueryRejection};

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

    #[get("/peer")]
    #[auth(public)]
    async fn peer(PeerAddr(address): PeerAddr) -> String {
        address.to_string()
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
        let detail = post_text("/json", JSON, r#"{"lamps":"two"}"#).await;
        assert!(detail.text().contains("`lamps`: invalid type"), "{}", detail.text());
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_refused() {
        let long = " ".repeat(1001);
        let piece = || Ok::<_, Infallible>(Frame::data(Bytes::from_static(b" ")));
        let pieces = std::iter::repeat_with(piece).take(1001);
        let without_length = Body::new(StreamBody::new(stream::iter(pieces)));
        let requests = [
            all().post("/json").header("content-type", JSON).body(long.clone()),
            all().post("/form").header("content-type", FORM).body(long),
            all().post("/json").header("content-type", JSON).body(without_length),
        ];
        for request in requests {
            let response = request.send().await;
            assert_eq!(refusal(&response), (413, "request.body-too-large".to_owned()));
        }
    }

    #[tokio::test]
    async fn a_body_within_the_limit_is_read() {
        let long = format!("{}{{\"lamps\":2}}", " ".repeat(989));
        let request = all().post("/json").header("content-type", JSON).body(long);
        assert_eq!(request.send().await.status(), 200);
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

    /// RFC 9110 15.5.16: nothing decodes it, and its bytes are not of the type.
    #[tokio::test]
    async fn a_body_with_a_content_coding_is_refused() {
        for (path, media_type, body) in
            [("/json", JSON, r#"{"lamps":2}"#), ("/form", FORM, "lamps=2")]
        {
            let send = async |coding: &str| {
                let request = all().post(path).header("content-type", media_type);
                request.header("content-encoding", coding).body(body).send().await
            };
            assert_eq!(send("identity").await.status(), 200, "{path}");
            for coding in ["gzip", "x"] {
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
        assert_eq!(client.get("/form?lamps=2").send().await.text(), "lamps=2");
        let response = client.post("/form?lamps=2").form(&Order { lamps: 3 }).send().await;
        assert_eq!(response.text(), "lamps=3");
        assert_eq!(response.header("content-type"), Some(FORM));
        for (response, wanted) in [
            (client.get("/form?lamps=x").send().await, (400, "request.query-invalid")),
            (client.post("/form").send().await, (415, "request.media-type")),
            (post_text("/form", FORM, "lamps=x").await, (422, "request.form-invalid")),
        ] {
            assert_eq!(refusal(&response), (wanted.0, wanted.1.to_owned()));
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
    async fn the_route_has_the_prefix_of_its_group() {
        let app = App::new(Shop { db: Db { name: "x" } });
        let app = app.group("/api", Group::new().routes(routes![route]));
        let text = app.test().get("/api/route/7").send().await.text();
        assert!(text.starts_with("7 /api/route/{id} "), "{text}");
    }

    #[tokio::test]
    async fn a_peer_needs_a_socket() {
        let response = all().get("/peer").send().await;
        assert_eq!(refusal(&response), (500, "handler.failed".to_owned()));
    }
}

mod of_axum {
    use axum::{
        Extension,
        extract::{Multipart, RawQuery, Request, WebSocketUpgrade},
    };
    use bytes::Bytes;
    use http::{HeaderMap, Method, Uri};

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
    async fn json_works_with_axums_rejections() {
        let client = all();
        assert_eq!(
            client.post("/json").json(&Order { lamps: 2 }).send().await.json::<Order>().lamps,
            2
        );
        assert_eq!(client.post("/json").body("{}").send().await.status(), 415);
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
        assert_eq!(request.send().await.status(), 426);
    }

    #[tokio::test]
    async fn an_extension_comes_from_a_layer() {
        let app = App::new(Shop { db: Db { name: "x" } }).routes(routes![extension]);
        assert_eq!(app.layer(Extension(9u8)).test().get("/extension").send().await.text(), "9");
        assert_eq!(all().get("/extension").send().await.status(), 500);
    }

    #[tokio::test]
    async fn parts_of_the_request_are_there() {
        let response = all().post("/bytes?q").header("x-kind", "k").body("hello").send().await;
        assert_eq!(response.text(), "POST /bytes?q k 5");
        assert_eq!(all().post("/text").body("hello").send().await.text(), "hello");
        assert_eq!(all().post("/text").body(b"\xff".to_vec()).send().await.status(), 400);
        assert_eq!(all().post("/request").body("hello").send().await.text(), "hello");
    }

    #[tokio::test]
    async fn the_limit_of_the_app_holds_for_axums_extractors() {
        for path in ["/bytes", "/text"] {
            let response = all().post(path).body("x".repeat(1001)).send().await;
            assert_eq!(response.status(), 413, "{path}");
        }
        // Also where the limit is above the two megabytes that axum allows by default.
        let app = App::new(Shop { db: Db { name: "x" } }).limits(Limits::NONE.body(3_000_000));
        let response =
            app.routes(routes![head_and_bytes]).test().post("/bytes").body(vec![0; 2_500_000]);
        assert_eq!(response.send().await.text(), "POST /bytes  2500000");
    }
}

mod of_axum_extra {
    use axum_extra::{
        TypedHeader,
        extract::cookie::{Cookie, CookieJar},
        headers::UserAgent,
    };

    use super::*;

    #[get("/agent")]
    #[auth(public)]
    async fn agent(TypedHeader(agent): TypedHeader<UserAgent>) -> String {
        agent.to_string()
    }

    #[get("/agent/optional")]
    #[auth(public)]
    async fn optional_agent(agent: Option<TypedHeader<UserAgent>>) -> String {
        format!("{}", agent.is_some())
    }

    #[get("/cookies")]
    #[auth(public)]
    async fn cookies(jar: CookieJar) -> (CookieJar, String) {
        let seen = jar.get("a").map_or_else(String::new, |cookie| cookie.value().to_owned());
        (jar.add(Cookie::new("b", "2")), seen)
    }

    #[tokio::test]
    async fn typed_headers_work() {
        let client = client(routes![agent, optional_agent]);
        assert_eq!(client.get("/agent").header("user-agent", "me/1").send().await.text(), "me/1");
        assert_eq!(client.get("/agent").send().await.status(), 400);
        assert_eq!(client.get("/agent/optional").send().await.text(), "false");
    }

    #[tokio::test]
    async fn cookies_work() {
        let client = client(routes![cookies]);
        let response = client.get("/cookies").header("cookie", "a=1; c=3").send().await;
        assert_eq!(response.text(), "1");
        assert_eq!(response.header_all("set-cookie"), ["b=2"]);
    }
}

mod responses {
    use std::convert::Infallible;

    use axum::response::{
        Html, Redirect,
        sse::{Event, Sse},
    };
    use futures_util::stream::{self, Stream};

    use super::*;

    #[get("/html")]
    #[auth(public)]
    async fn html() -> Html<&'static str> {
        Html("<h1>hi</h1>")
    }

    #[get("/redirect")]
    #[auth(public)]
    async fn redirect() -> Redirect {
        Redirect::to("/html")
    }

    #[get("/tuple")]
    #[auth(public)]
    async fn tuple() -> (StatusCode, [(&'static str, &'static str); 1], Json<Order>) {
        (StatusCode::CREATED, [("etag", "\"1\"")], Json(Order { lamps: 1 }))
    }

    #[get("/opaque")]
    #[auth(public)]
    async fn opaque() -> impl IntoResponse {
        (StatusCode::ACCEPTED, "later")
    }

    #[get("/nothing")]
    #[auth(public)]
    async fn nothing() {}

    #[get("/problem/{kind}")]
    #[auth(public)]
    async fn problem(kind: String) -> Result<&'static str, Problem> {
        match kind.as_str() {
            "none" => Ok("fine"),
            "internal" => Err(Problem::internal("the database password is hunter2")),
            _ => Err(Problem::conflict().code("orders.sold").with("order", 7)),
        }
    }

    #[get("/events")]
    #[cors(origins = ["https://app.example"])]
    #[auth(public)]
    async fn events() -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
        Sse::new(stream::iter(["1", "2"].map(|data| Ok(Event::default().data(data)))))
    }

    fn all() -> TestClient {
        client(routes![html, redirect, tuple, opaque, nothing, problem, events])
    }

    #[tokio::test]
    async fn axums_responses_work() {
        let client = all();
        let html = client.get("/html").send().await;
        assert_eq!(html.header("content-type"), Some("text/html; charset=utf-8"));
        let redirect = client.get("/redirect").send().await;
        assert_eq!(redirect.status(), 303);
        assert_eq!(redirect.header("location"), Some("/html"));
        let tuple = client.get("/tuple").send().await;
        assert_eq!(tuple.status(), 201);
        assert_eq!(tuple.header("etag"), Some("\"1\""));
        assert_eq!(tuple.text(), r#"{"lamps":1}"#);
        assert_eq!(client.get("/opaque").send().await.status(), 202);
        let nothing = client.get("/nothing").send().await;
        assert_eq!((nothing.status().as_u16(), nothing.text().as_str()), (200, ""));
    }

    #[tokio::test]
    async fn events_are_streamed_under_the_policy() {
        let response = all().get("/events").origin("https://app.example").send().await;
        assert_eq!(response.header("content-type"), Some("text/event-stream"));
        let allowed = response.header("access-control-allow-origin");
        assert_eq!(allowed, Some("https://app.example"));
        assert_eq!(response.text(), "data: 1\n\ndata: 2\n\n");
    }

    #[tokio::test]
    async fn a_problem_is_a_response() {
        let client = all();
        assert_eq!(client.get("/problem/none").send().await.text(), "fine");
        let conflict = client.get("/problem/other").send().await;
        assert_eq!(refusal(&conflict), (409, "orders.sold".to_owned()));
        assert_eq!(conflict.json::<serde_json::Value>()["order"], 7);
        let internal = client.get("/problem/internal").send().await;
        assert_eq!(refusal(&internal), (500, "handler.failed".to_owned()));
        assert!(!internal.text().contains("hunter2"));
    }
}
