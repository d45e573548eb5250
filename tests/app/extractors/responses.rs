//! Responses of axum and of the library.

use axum::response::{Html, Redirect};

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

fn all() -> TestClient {
    client(routes![html, redirect, tuple, opaque, nothing])
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
