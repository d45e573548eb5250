//! Redirects from one host of the network to another.

use axum::{Router, routing::get};
use policy_server::testing::{Url, *};

use super::app;

fn two_hosts(allow_origin: &'static str) -> Network {
    let files = Router::new().route(
        "/list",
        get(async move || ([("access-control-allow-origin", allow_origin)], "a b")),
    );
    Network::new()
        .host("https://api.shop.example", app().into_service())
        .host("https://files.shop.example", files)
}

#[tokio::test]
async fn a_redirect_is_followed_where_both_hosts_share() {
    let page = Browser::chromium().open("https://app.shop.example");
    let moved = || Fetch::get("https://api.shop.example/moved");
    let list = page.fetch(&two_hosts("*"), moved()).await;
    assert_eq!(list.text(), "a b");
    assert!(list.response().is_redirected);
    assert_eq!(list.response().url.as_ref().map(Url::path), Some("/list"));

    // The second host receives a request of a page that had addressed another host: `Origin: null`.
    let net = two_hosts("https://app.shop.example");
    let list = page.fetch(&net, moved()).await;
    assert_eq!(net.requests()[1].headers["origin"], "null");
    let reason = list.blocked().map(|it| it.reason.clone());
    assert_eq!(reason, Some(Reason::AllowOrigin("https://app.shop.example".to_owned())));
}

#[tokio::test]
async fn a_person_is_led_anywhere() {
    let net = two_hosts("https://nobody.example");
    let fetched = Browser::webkit().visit(&net, "https://api.shop.example/moved").await;
    assert_eq!(fetched.tab().page().url.as_str(), "https://files.shop.example/list");
    assert_eq!(fetched.text(), "a b");
}
