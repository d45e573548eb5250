//! The model of a browser against real ones: generated cases run in headless Chromium, Firefox and
//! WebKitGTK, over TLS and with hosts of several sites, and in [`policy_browser`]. What pages
//! could read, which requests reached the servers, and with which cookies, must be the same.
//!
//! Needs Chromium with chromedriver, Firefox, and WebKitWebDriver with Xvfb, which plain `cargo
//! test` cannot expect: `cargo xtask test` installs the first two and runs their tests too; `cargo
//! xtask long browser-diff` runs more cases, and WebKit.

mod case;
mod compare;
mod engine;
mod generate;
mod kinds;
mod seen;
mod server;
mod shrink;

use policy_tests::{
    bidi, random, tls,
    webdriver::{self, Failure},
    webkit,
};

use compare::compare;
use engine::Engine;

#[test]
#[ignore = "needs Chromium and chromedriver"]
fn chromium_behaves_as_modelled() -> Result<(), Failure> {
    compare(Engine::Chromium)
}

#[test]
#[ignore = "needs Chromium and chromedriver"]
fn chromium_with_third_party_cookies_behaves_as_modelled() -> Result<(), Failure> {
    compare(Engine::ChromiumWithThirdPartyCookies)
}

#[test]
#[ignore = "needs Firefox"]
fn firefox_behaves_as_modelled() -> Result<(), Failure> {
    compare(Engine::Firefox)
}

#[test]
#[ignore = "needs Firefox"]
fn firefox_with_third_party_cookies_behaves_as_modelled() -> Result<(), Failure> {
    compare(Engine::FirefoxWithThirdPartyCookies)
}

#[test]
#[ignore = "needs WebKitWebDriver and Xvfb"]
fn webkit_behaves_as_modelled() -> Result<(), Failure> {
    compare(Engine::WebKit)
}
