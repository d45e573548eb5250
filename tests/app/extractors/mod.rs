//! Extractors and responses in annotated handlers: the library's own, axum's and axum-extra's.

mod of_axum;
mod of_axum_extra;
mod own;
mod own_errors;
mod path_parameters;
mod responses;

use policy_server::{
    prelude::*,
    testing::{TestClient, TestResponse},
};
use policy_tests::http::problem as refusal;
use serde::{Deserialize, Serialize};

#[derive(Clone)]
struct Db {
    name: &'static str,
}

#[derive(Clone)]
struct Shop {
    db: Db,
}

impl FromRef<Shop> for Db {
    fn from_ref(shop: &Shop) -> Self {
        shop.db.clone()
    }
}

#[derive(Debug, Deserialize, Serialize)]
struct Order {
    lamps: u32,
}

fn client(routes: Vec<policy_server::Route<Shop>>) -> TestClient {
    App::new(Shop { db: Db { name: "lamps" } })
        .policies(Policies::new().limits(Limits::NONE.body(1000)))
        .routes(routes)
        .test()
}
