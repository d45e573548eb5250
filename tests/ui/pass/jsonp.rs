//! Every form of `#[jsonp]`, and what it goes with.
#![deny(warnings)]

use policy_server::{
    policy_core::jsonp::{Grammar, JsonpPolicy},
    prelude::*,
};

const PARTNERS: JsonpPolicy = JsonpPolicy { callback: "cb", grammar: Grammar::Dotted };

macro_rules! route {
    ($name:ident, $path:literal, $callback:literal, $shared:path) => {
        #[get($path)]
        #[jsonp(callback = $callback)]
        #[auth(public)]
        async fn $name() {}

        mod $name {
            use super::*;

            #[get("/shared")]
            #[jsonp($shared)]
            #[auth(public)]
            pub async fn shared() {}
        }
    };
}

route!(a, "/a", "call-back_1.~", PARTNERS);

#[get("/b")]
#[head("/b")]
#[auth(public)]
#[cors(origins = ["*"])]
#[jsonp(dotted, callback = "cb",)]
async fn b(_who: Option<Principal>) {}

#[get("/c")]
#[auth(public)]
#[jsonp(self::PARTNERS)]
async fn c() {}

fn main() {
    let _ = App::new(()).routes(routes![a, a::shared, b, c]);
}
