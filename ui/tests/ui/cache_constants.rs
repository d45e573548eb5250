//! The same rules, behind names: checked while the compiler evaluates constants.
use policy_server::{CachePolicy, prelude::*};

const FOREVER: CachePolicy = CachePolicy::public().immutable().build();
const ANY: CachePolicy = CachePolicy::public().vary(&["accept", "*"]).build();

mod shop {
    use policy_server::CachePolicy;

    pub const LISTS: CachePolicy = CachePolicy::public().max_age(60).build();
    pub const MINE: CachePolicy = CachePolicy::private().build();
}
use shop::LISTS;

#[get("/1")]
#[cache(LISTS)]
#[auth(session)]
async fn shared() {}

#[get("/2")]
#[cache(shop::LISTS)]
#[auth(public)]
async fn seen(_session: Session) {}

#[delete("/3")]
#[cache(LISTS)]
#[auth(public)]
async fn delete() {}

#[post("/4")]
#[cache(shop::MINE)]
#[auth(public)]
async fn post() {}

const SECONDS: u32 = 60;
#[get("/5")]
#[cache(SECONDS)]
#[auth(public)]
async fn number() {}

fn main() {}
