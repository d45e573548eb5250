//! Responses that a browser stores and does not request again.

use std::time::Duration;

use policy_server::testing::*;

use super::net;

fn preflights(net: &Network) -> usize {
    net.requests().iter().filter(|sent| sent.is_preflight).count()
}

#[tokio::test]
async fn a_preflight_is_seen_once_and_kept_as_long_as_the_route_says() {
    let net = net();
    let page = Browser::chromium().open("https://app.shop.example");
    let order = || Fetch::put("https://api.shop.example/orders/7").credentials(Include);
    page.fetch(&net, order()).await;
    page.fetch(&net, order()).await;
    assert_eq!((preflights(&net), net.requests().len()), (1, 3));
    net.elapse(Duration::from_secs(599));
    page.fetch(&net, order()).await;
    assert_eq!(preflights(&net), 1);
    net.elapse(Duration::from_secs(2));
    page.fetch(&net, order()).await;
    assert_eq!(preflights(&net), 2, "max_age = 600");
}

#[tokio::test]
async fn a_fresh_response_is_not_requested_again() {
    let net = net();
    let page = Browser::firefox().open("https://app.shop.example");
    let lamps = Fetch::get("https://api.shop.example/catalogue");
    assert!(!page.fetch(&net, lamps.clone()).await.response().is_cached);
    assert!(page.fetch(&net, lamps.clone()).await.response().is_cached);
    assert_eq!(net.requests().len(), 1);
    net.elapse(Duration::from_secs(61));
    assert!(!page.fetch(&net, lamps).await.response().is_cached);
    assert_eq!(net.requests().len(), 2);
}

#[tokio::test]
async fn a_stale_response_is_used_once_and_refreshed() {
    let list = async || ([("cache-control", "max-age=60, stale-while-revalidate=600")], "lamps");
    let router = axum::Router::new().route("/list", axum::routing::get(list));
    let net = Network::new().host("https://shop.example", router);
    let page = Browser::chromium().open("https://shop.example");
    for (seconds, is_cached, requests) in [(0, false, 1), (61, true, 2), (1, true, 2)] {
        net.elapse(Duration::from_secs(seconds));
        let list = page.fetch(&net, Fetch::get("/list")).await;
        assert_eq!((list.response().is_cached, net.requests().len()), (is_cached, requests));
    }
}
