//! Caching, JSONP, security headers and isolation in a real browser, and caching in the cache of an
//! independent HTTP client.
//!
//! Needs Chromium and chromedriver, and for one test Python with `cachecontrol`, which plain
//! `cargo test` cannot expect: `cargo xtask test` installs them and runs these tests too.

mod caches;
mod declarations;
mod isolation;
mod jsonp;
mod logins;
mod security;
mod site;

use policy_server::prelude::*;
use policy_tests::{
    peers,
    webdriver::{Browser, Failure},
};
use serde_json::{Value, json};

use site::Site;
