//! The model of a browser against real ones: generated cases run in headless Chromium and Firefox,
//! over TLS and with hosts of several sites, and in [`policy_core::browser`]. What pages could
//! read, what reached the servers and which cookies came along has to be the same.
//!
//! Needs Chromium with chromedriver, and Firefox, which plain `cargo test` cannot expect: `cargo
//! xtask test` installs them and runs these tests too; `cargo xtask long browser-diff` runs more
//! cases.
#![expect(clippy::expect_used, clippy::panic, reason = "what a test cannot do without fails it")]
#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]
#![expect(clippy::print_stdout, reason = "a long run says how far it is")]

#[path = "support/authority.rs"]
mod authority;
#[path = "support/bidi.rs"]
mod bidi;
#[path = "browser_diff/case.rs"]
mod case;
#[path = "browser_diff/compare.rs"]
mod compare;
#[path = "browser_diff/engine.rs"]
mod engine;
#[path = "browser_diff/generate.rs"]
mod generate;
#[path = "support/random.rs"]
mod random;
#[path = "browser_diff/seen.rs"]
mod seen;
#[path = "browser_diff/server.rs"]
mod server;
#[path = "browser_diff/shrink.rs"]
mod shrink;
#[path = "support/tls.rs"]
mod tls;
#[path = "support/webdriver.rs"]
mod webdriver;

use compare::compare;
use engine::Engine;
use webdriver::Failure;

#[test]
#[ignore = "needs Chromium and chromedriver"]
fn chromium_does_what_the_model_says() -> Result<(), Failure> {
    compare(Engine::Chromium)
}

#[test]
#[ignore = "needs Chromium and chromedriver"]
fn chromium_with_third_party_cookies_does_what_the_model_says() -> Result<(), Failure> {
    compare(Engine::ChromiumWithThirdPartyCookies)
}

#[test]
#[ignore = "needs Firefox"]
fn firefox_does_what_the_model_says() -> Result<(), Failure> {
    compare(Engine::Firefox)
}

#[test]
#[ignore = "needs Firefox"]
fn firefox_with_third_party_cookies_does_what_the_model_says() -> Result<(), Failure> {
    compare(Engine::FirefoxWithThirdPartyCookies)
}
