//! Scripts and images from other origins.

use policy_server::testing::*;

use super::net;

#[tokio::test]
async fn a_script_runs_in_every_page() {
    let net = net();
    let page = Browser::firefox().open("https://partner.example");
    let prices = page.fetch(&net, Fetch::script("https://api.shop.example/prices?cb=show")).await;
    assert_eq!(prices.script(), "/**/typeof show==='function'&&show([1,2]);");
    let sent = net.requests();
    assert_eq!(sent[0].headers["sec-fetch-dest"], "script");
}

#[tokio::test]
async fn responses_of_another_type_do_not_run_as_scripts() {
    let net = net();
    let page = Browser::chromium().open("https://api.shop.example/page");
    let lamps = page.fetch(&net, Fetch::script("/catalogue")).await;
    let reason = lamps.blocked().map(|it| it.reason.clone());
    assert_eq!(reason, Some(Reason::ScriptType("text/plain; charset=utf-8".to_owned())));
}
