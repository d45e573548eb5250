//! The same rules, behind names: checked while the compiler evaluates constants.
use policy_server::{
    policy::{Grammar, JsonpPolicy},
    prelude::*,
};

const BLANK: JsonpPolicy = JsonpPolicy::callback("call back").build();

mod partners {
    use super::{Grammar, JsonpPolicy};

    pub const EMPTY: JsonpPolicy = JsonpPolicy::callback("").grammar(Grammar::Dotted).build();
}

#[get("/blank")]
#[auth(public)]
#[jsonp(BLANK)]
async fn blank() {}

#[get("/empty")]
#[auth(public)]
#[jsonp(partners::EMPTY)]
async fn empty() {}

#[get("/other")]
#[auth(public)]
#[jsonp(NAME)]
async fn other() {}
const NAME: &str = "cb";

fn main() {}
