//! Sessions and CSRF in a real browser: over TLS, with hosts of several sites, since the ports of
//! one host are the same site.
//!
//! Needs Chromium, chromedriver and Firefox, which plain `cargo test` cannot expect: `cargo xtask test`
//! installs them and runs these tests too.

mod cookies;
mod extensions;
mod forgery;
mod sharing;
mod shop;
mod websockets;

use policy_core::cookie::SameSite;
use policy_server::prelude::*;
use policy_tests::webdriver::{Browser, Failure};
use serde_json::{Value, json};

use shop::{Shop, ThirdPartyCookies, call, call_with};
