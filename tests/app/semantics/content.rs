//! What a client accepts, and what it may send.

use super::*;

#[get("/lamp")]
#[auth(public)]
async fn lamp(accept: Accept) -> Result<Response, Problem> {
    let chosen = accept.best(["application/json", "text/html", "text/csv"])?;
    let body = chosen.media_type();
    Ok((chosen, body).into_response())
}

#[post("/orders")]
#[auth(public)]
async fn order(Json(order): Json<Value>) -> Json<Value> {
    Json(order)
}

/// `policy-core/tests/laws/http/negotiation.rs` compares any lists with RFC 9110 12.5.1.
#[tokio::test]
async fn the_best_available_representation_is_chosen() {
    let server = Running::start(App::new(()).routes(routes![lamp])).await;
    for (accept, chosen) in [
        ("", "application/json"),
        ("text/csv, text/html;q=0.9", "text/csv"),
        // A parameter after the weight belongs to the type (RFC 9110 12.5.1).
        ("text/html;q=1.0;x=y, text/csv;q=0.9", "text/csv"),
        ("image/png", ""),
    ] {
        let field = format!("accept: {accept}");
        let fields: &[&str] = if accept.is_empty() { &[] } else { &[&field] };
        let response = ask(&server, "GET /lamp", fields).await;
        assert_eq!(vary(&response), ["accept".to_owned()].into(), "{accept}");
        if chosen.is_empty() {
            assert_eq!(response.status, 406, "{accept}");
        } else {
            assert_eq!((response.status, response.text()), (200, chosen), "{accept}");
        }
    }
    let lines = ["accept: text/html;q=0.4", "accept: text/csv;q=0.6"];
    assert_eq!(ask(&server, "GET /lamp", &lines).await.text(), "text/csv");
}

/// A form of another site can send these three types, or none, without a preflight.
#[tokio::test]
async fn no_simple_request_carries_json() {
    let server =
        Running::start(App::new(()).policies(Policies::new().cors(SHOP)).routes(routes![order]))
            .await;
    for media_type in [
        "text/plain",
        "text/plain;charset=application/json",
        "text/plain; application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=application/json",
        "text/json",
        "application/jsonp",
        "application/json-seq",
        "json",
        "application/json, text/plain",
        "text/plain, application/json",
        "application/json/x",
        "application/x-www-form-urlencoded,a+json",
        "application/",
        "application",
        "",
    ] {
        let field = format!("content-type: {media_type}");
        let response = ask_with(&server, "POST /orders", &[EVIL, &field], "{}").await;
        assert_eq!(response.status, 415, "{media_type}");
        assert_eq!(response.sharing(), [""; 0]);
    }
    assert_eq!(ask_with(&server, "POST /orders", &[EVIL], "{}").await.status, 415);
    let mut twice = ["content-type: text/plain", "content-type: application/json"];
    for _order in 0..2 {
        assert_eq!(ask_with(&server, "POST /orders", &twice, "{}").await.status, 415, "{twice:?}");
        twice.reverse();
    }
    for media_type in [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/json ;x",
        "application/problem+json",
        "application/vnd.shop+JSON",
    ] {
        let field = format!("content-type: {media_type}");
        assert_eq!(
            ask_with(&server, "POST /orders", &[&field], "{}").await.status,
            200,
            "{media_type}"
        );
    }
}

#[put("/lamp")]
#[auth(public)]
async fn store(body: String) -> String {
    body
}

/// RFC 9110 14.5: a handler would store the part as the whole. What is mounted may take parts.
#[tokio::test]
async fn a_part_is_not_stored_as_the_whole() {
    let service = tower::service_fn(async |_request: policy_server::Request| {
        Ok::<_, Infallible>(Response::new(Body::from("mounted")))
    });
    let app = App::new(())
        .routes(routes![store, order])
        .mount("/files", Mount::new(service).public().methods([Method::PUT]));
    let server = Running::start(app).await;
    let part = "content-range: bytes 0-1/10";
    for part in [part, "content-range: bytes 0-9/10", "content-range: x", "content-range:"] {
        let response = ask_with(&server, "PUT /lamp", &[part], "on").await;
        assert_eq!(response.problem(), (400, "request.content-range".to_owned()), "{part}");
    }
    assert_eq!(ask_with(&server, "PUT /lamp", &[], "on").await.text(), "on");
    // `Content-Range` has a meaning for PUT only.
    let json = "content-type: application/json";
    assert_eq!(ask_with(&server, "POST /orders", &[json, part], "{}").await.status, 200);
    assert_eq!(ask_with(&server, "PUT /files/a", &[part], "on").await.text(), "mounted");
}
