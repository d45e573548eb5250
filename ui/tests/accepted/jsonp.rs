//! Every form of `#[jsonp]`, and what it goes with.
#![deny(warnings)]

use policy_server::{
    policy::{Grammar, JsonpPolicy},
    prelude::*,
};

const PARTNERS: JsonpPolicy = JsonpPolicy::callback("cb").grammar(Grammar::Dotted).build();

macro_rules! routes_of {
    ($callback:literal, $shared:path) => {
        #[get("/a")]
        #[jsonp(callback = $callback)]
        #[auth(public)]
        async fn a() {}

        #[get("/d")]
        #[jsonp($shared)]
        #[auth(public)]
        async fn d() {}
    };
}

routes_of!("call-back_1.~", PARTNERS);

#[get("/b")]
#[head("/b")]
#[auth(public)]
#[cors(origins = ["*"])]
#[jsonp(dotted, callback = "cb")]
async fn b(_method: http::Method) {}

#[get("/c")]
#[auth(public)]
#[jsonp(self::PARTNERS)]
async fn c() {}

pub(crate) fn app() {
    let _ = App::new(()).routes(routes![a, b, c, d]);
}
