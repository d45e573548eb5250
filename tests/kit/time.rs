//! Time that passes for browsers and apps alike.

use policy_server::{session::minutes, testing::*};

use super::{app, logged_in};

#[tokio::test]
async fn a_session_ends_when_its_time_is_over() {
    let net = Network::new();
    let app = app().clock(net.clock());
    let net = net.host("https://api.shop.example", app.into_service());
    let page = logged_in(&net, Profile::CHROMIUM).await.open("https://app.shop.example");
    let me = || Fetch::get("https://api.shop.example/me").credentials(Include);
    net.elapse(minutes(14));
    assert_eq!(page.fetch(&net, me()).await.status(), 200);
    net.elapse(minutes(16));
    assert_eq!(page.fetch(&net, me()).await.status(), 401);
}

#[tokio::test]
async fn a_cookie_ends_when_its_time_is_over() {
    let net = super::net();
    let page = Browser::firefox().open("https://api.shop.example/page");
    page.fetch(&net, Fetch::get("/catalogue")).await;
    page.set_cookie("offer=1; Max-Age=60");
    net.elapse(minutes(1) / 2);
    assert_eq!(page.cookie(), "offer=1");
    net.elapse(minutes(1));
    assert_eq!(page.cookie(), "");
}
