//! axum-extra's extractors.

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
    let value = jar.get("a").map_or_else(String::new, |cookie| cookie.value().to_owned());
    (jar.add(Cookie::new("b", "2")), value)
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
