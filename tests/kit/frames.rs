//! Pages in frames of other pages.

use policy_server::testing::*;

use super::{PROFILES, logged_in, net};

#[tokio::test]
async fn a_page_without_frame_policy_is_not_framed_by_others() {
    let net = net();
    for (page, is_blocked) in
        [("https://evil.example", true), ("https://api.shop.example/page", false)]
    {
        let page = Browser::chromium().open(page);
        let frame = page.fetch(&net, Fetch::frame("https://api.shop.example/page")).await;
        assert_eq!(frame.is_blocked(), is_blocked, "{frame:?}");
    }
}

/// Third-party cookies, which each engine treats differently and by a setting.
#[tokio::test]
async fn the_browser_decides_whether_a_widget_gets_its_session() {
    // `SameSite=Lax` keeps the cookie out of foreign frames in any case.
    let lenient = Profile::CHROMIUM.third_party(ThirdParty::Sent);
    for profile in PROFILES.into_iter().chain([lenient]) {
        let net = net();
        let browser = logged_in(&net, profile).await;
        let widget = || Fetch::frame("https://api.shop.example/widget");
        let news = browser.open("https://news.example").fetch(&net, widget()).await;
        assert_eq!(news.text(), "nobody", "{profile:?}");
        assert!(!news.tab().page().has_same_site_ancestors);
        let own = browser.open("https://app.shop.example").fetch(&net, widget()).await;
        assert_eq!(own.text(), "alice", "{profile:?}");
    }
}

#[tokio::test]
async fn a_frame_of_another_site_is_a_third_party() {
    let top = Browser::chromium().open("https://news.example");
    let frame = top.frame("https://app.shop.example");
    assert_eq!(frame.page().top_level.as_str(), "https://news.example/");
    assert!(!frame.page().has_same_site_ancestors);
    let inner = frame.frame("https://news.example/inner");
    assert!(!inner.page().has_same_site_ancestors, "one of them is of another site");
    assert!(top.frame("https://ads.news.example").page().has_same_site_ancestors);
    frame.set_cookie("seen=1; Secure; SameSite=None");
    assert_eq!(frame.cookie(), "", "Chromium blocks it");
}
