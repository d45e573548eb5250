//! A page of the shop, a page of a partner, and a session.

use policy_server::testing::{Browser, Fetch, Include, Omit};

use super::{ALICE, net};

/// The example of the documentation, unchanged.
#[tokio::test]
async fn a_page_of_the_shop_logs_in_and_reads_its_profile() {
    let net = net();
    let page = Browser::chromium().open("https://app.shop.example");
    let login = Fetch::post("https://api.shop.example/login").credentials(Include).json(&ALICE);
    assert_eq!(page.fetch(&net, login).await.status(), 204);
    let me = page.fetch(&net, Fetch::get("https://api.shop.example/me").credentials(Include)).await;
    assert_eq!(me.status(), 200);
    assert_eq!(me.json::<String>(), "alice");
    assert_eq!(me.header("x-total"), None, "not exposed");
    assert_eq!(me.header("x-visits"), Some("3"));
    assert_eq!(me.header("set-cookie"), None, "scripts never see it");
    let sent = net.requests();
    let steps: Vec<_> = sent
        .iter()
        .map(|sent| (sent.method.as_str(), sent.url.path(), sent.is_preflight))
        .collect();
    let expected = [("OPTIONS", "/login", true), ("POST", "/login", false), ("GET", "/me", false)];
    assert_eq!(steps, expected);
    assert!(!sent[1].headers.contains_key("cookie"));
    assert!(sent[2].headers["cookie"].to_str().is_ok_and(|it| it.starts_with("__Host-sid=")));
}

/// Tabs of one browser share a session; another browser does not.
#[tokio::test]
async fn tabs_of_one_browser_share_their_cookies() {
    let net = net();
    let login = Fetch::post("https://api.shop.example/login").credentials(Include).json(&ALICE);
    let me = Fetch::get("https://api.shop.example/me").credentials(Include);
    let (browser, other) = (Browser::firefox(), Browser::firefox());
    let first = browser.open("https://app.shop.example/a");
    let second = browser.open("https://app.shop.example/b");
    first.fetch(&net, login).await;
    assert_eq!(second.fetch(&net, me.clone()).await.status(), 200);
    let stranger = other.open("https://app.shop.example");
    assert_eq!(stranger.fetch(&net, me.clone()).await.status(), 401);
    assert_eq!(second.fetch(&net, me.credentials(Omit)).await.status(), 401);
}

#[tokio::test]
async fn scripts_see_and_change_the_same_cookies() {
    let net = net();
    let browser = Browser::webkit();
    let page = browser.open("https://api.shop.example/page");
    page.fetch(&net, Fetch::post("/login").json(&ALICE)).await;
    assert_eq!(page.cookie(), "", "that of the session is HttpOnly");
    page.set_cookie("theme=dark; Secure");
    page.set_cookie("__Host-sid=forged; Secure; Path=/");
    assert_eq!(page.cookie(), "theme=dark");
    assert_eq!(page.fetch(&net, Fetch::get("/me")).await.status(), 200);
    let cookies = browser.cookies();
    let of_session =
        cookies.iter().find(|cookie| cookie.name() == "__Host-sid").expect("a session");
    assert!(of_session.is_secure() && of_session.is_http_only() && of_session.is_host_only());
    assert_eq!(cookies.len(), 2);
}
