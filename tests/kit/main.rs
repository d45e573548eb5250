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
use policy_server::testing::{Network, Profile};
use shop::{ALICE, app};

const PROFILES: [Profile; 3] = [Profile::CHROMIUM, Profile::FIREFOX, Profile::WEBKIT];

/// A network with the app at `https://api.shop.example`.
fn net() -> Network {
    Network::new().host("https://api.shop.example", app().into_service())
}
