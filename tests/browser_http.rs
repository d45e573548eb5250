//! Caching, scripts for partners, security fields and isolation in a real browser, and in the
//! cache of an HTTP client that somebody else wrote.
//!
//! Needs Chromium and chromedriver, and for one test Python with `cachecontrol`, which plain
//! `cargo test` cannot expect: `cargo xtask test` installs them and runs these tests too.
#![expect(clippy::expect_used, clippy::panic, reason = "what a test cannot do without fails it")]
#![expect(clippy::indexing_slicing, reason = "a test fails where something is missing")]

#[path = "browser_auth/arrivals.rs"]
mod arrivals;
#[path = "browser_http/caches.rs"]
mod caches;
#[path = "browser_http/declarations.rs"]
mod declarations;
#[path = "support/catalogue.rs"]
mod example;
#[path = "browser_http/isolation.rs"]
mod isolation;
#[path = "browser_http/jsonp.rs"]
mod jsonp;
#[path = "browser_http/page.rs"]
mod page;
#[path = "browser_auth/pages.rs"]
mod pages;
#[path = "interop/peers.rs"]
mod peers;
#[path = "browser_http/security.rs"]
mod security;
#[path = "browser_http/site.rs"]
mod site;
#[path = "support/webdriver.rs"]
mod webdriver;

use policy_server::prelude::*;
use serde_json::{Value, json};

use site::Site;
use webdriver::{Browser, Failure};
