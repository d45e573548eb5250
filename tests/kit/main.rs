//! The test kit as users of the framework use it: pages in a model of a browser, and apps.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]

mod caches;
mod consoles;
mod delivery;
mod forgery;
mod frames;
mod lasting;
mod login;
mod misuse;
mod pages;
mod parallel;
mod proof;
mod readme;
mod redirects;
mod scripts;
mod shop;
mod templates;
mod time;

use policy_core_tests::law;
use policy_server::testing::{Browser, Fetch, Include, Network, Profile};
use shop::{ALICE, app};

const PROFILES: [Profile; 3] = [Profile::CHROMIUM, Profile::FIREFOX, Profile::WEBKIT];

/// A network with the app at `https://api.shop.example`.
fn net() -> Network {
    Network::new().host("https://api.shop.example", app().into_service())
}

/// A browser with a logged-in user.
async fn logged_in(net: &Network, profile: Profile) -> Browser {
    let browser = Browser::new(profile);
    let page = browser.open("https://app.shop.example");
    let login = Fetch::post("https://api.shop.example/login").credentials(Include).json(&ALICE);
    assert_eq!(page.fetch(net, login).await.status(), 204);
    browser
}
