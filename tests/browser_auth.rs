//! Sessions and anti-forgery in a real browser: over TLS, with hosts of several sites, since ports
//! of one host are the same site and prove nothing.
//!
//! Needs Chromium and chromedriver, which plain `cargo test` cannot expect: `cargo xtask test`
//! installs them and runs these tests too.
#![expect(clippy::expect_used, reason = "what a test cannot do without fails it")]
#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]

#[path = "browser_auth/accounts.rs"]
mod accounts;
#[path = "browser_auth/arrivals.rs"]
mod arrivals;
#[path = "support/authority.rs"]
mod authority;
#[path = "browser_auth/cookies.rs"]
mod cookies;
#[path = "support/accounts.rs"]
mod example;
#[path = "browser_auth/forgery.rs"]
mod forgery;
#[path = "browser_auth/pages.rs"]
mod pages;
#[path = "browser_auth/sharing.rs"]
mod sharing;
#[path = "browser_auth/shop.rs"]
mod shop;
#[path = "support/tls.rs"]
mod tls;
#[path = "support/webdriver.rs"]
mod webdriver;
#[path = "browser_auth/websockets.rs"]
mod websockets;

use policy_core::cookie::SameSite;
use policy_server::prelude::*;
use serde_json::{Value, json};

use shop::{Shop, ThirdPartyCookies, call, call_with};
use webdriver::{Browser, Failure};
