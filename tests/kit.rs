//! The test kit as users of the framework write it: pages of a model of browsers, and apps.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what a test cannot do without fails it"
)]
#![expect(clippy::print_stdout, reason = "laws say how often they were put to the test")]

#[path = "kit/caches.rs"]
mod caches;
#[path = "kit/consoles.rs"]
mod consoles;
#[path = "kit/delivery.rs"]
mod delivery;
#[path = "kit/forgery.rs"]
mod forgery;
#[path = "kit/frames.rs"]
mod frames;
#[path = "kit/lasting.rs"]
mod lasting;
#[path = "support/law.rs"]
mod law;
#[path = "kit/login.rs"]
mod login;
#[path = "kit/misuse.rs"]
mod misuse;
#[path = "kit/parallel.rs"]
mod parallel;
#[path = "kit/redirects.rs"]
mod redirects;
#[path = "kit/scripts.rs"]
mod scripts;
#[path = "kit/shop.rs"]
mod shop;
#[path = "kit/time.rs"]
mod time;

use policy_server::testing::{Network, Profile};
use shop::{ALICE, app};

const PROFILES: [Profile; 3] = [Profile::CHROMIUM, Profile::FIREFOX, Profile::WEBKIT];

/// Who lives at `https://api.shop.example`.
fn net() -> Network {
    Network::new().host("https://api.shop.example", app().into_service())
}
