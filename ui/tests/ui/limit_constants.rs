//! The same rules, behind names: checked while the compiler evaluates constants.
use policy_server::prelude::*;

mod limits {
    use policy_server::{Limits, Rate};

    pub const EMPTY: Limits = Limits::NONE.body(0);
    pub const PERSONAL: Limits = Limits::NONE.rate(Rate::per_minute(100).by_principal());
    pub const NUMBER: u32 = 64;
}

#[post("/1")]
#[auth(session)]
#[limit(limits::EMPTY)]
async fn empty() {}

#[post("/2")]
#[auth(public)]
#[limit(limits::PERSONAL)]
async fn personal() {}

#[post("/3")]
#[auth(public)]
#[limit(limits::NUMBER)]
async fn number() {}

fn main() {}
