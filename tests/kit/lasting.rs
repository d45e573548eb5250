//! Long-lived responses: WebSockets and streams of events.

use policy_server::testing::*;

use super::{ALICE, logged_in, net};

#[tokio::test]
async fn a_websocket_opens_for_pages_that_the_route_is_shared_with() {
    let net = net();
    let browser = Browser::chromium();
    let page = browser.open("https://app.shop.example");
    let socket = || Fetch::websocket("wss://api.shop.example/socket");
    let stranger = page.fetch(&net, socket()).await;
    assert_eq!(stranger.blocked().map(|it| &it.reason), Some(&Reason::NoUpgrade(401)));
    let login = Fetch::post("https://api.shop.example/login").credentials(Include).json(&ALICE);
    page.fetch(&net, login).await;
    assert!(page.fetch(&net, socket()).await.is_open());
    let blog = browser.open("https://blog.shop.example").fetch(&net, socket()).await;
    assert_eq!(blog.blocked().map(|it| &it.reason), Some(&Reason::NoUpgrade(403)));
    let console = blog.console().expect("words");
    assert!(console.contains("cors.websocket-origin-not-granted"), "{console}");
}

/// A stream of events never ends, and the page need not wait for it.
#[tokio::test]
async fn an_event_stream_opens_only_for_authorized_callers() {
    let net = net();
    let browser = logged_in(&net, Profile::FIREFOX).await;
    let page = browser.open("https://app.shop.example");
    let news = || Fetch::get("https://api.shop.example/news").credentials(Include);
    assert_eq!(page.fetch(&net, news()).await.text(), "data: hello\n\n");
    assert!(browser.open("https://blog.shop.example").fetch(&net, news()).await.is_blocked());
}
