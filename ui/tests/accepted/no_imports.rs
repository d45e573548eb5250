//! Qualified attributes, nothing imported, in every order, below `deny(warnings)`.
#![deny(warnings)]

#[policy_server::get("/1")]
#[policy_server::cors(origins = ["*"])]
#[policy_server::auth(public)]
async fn one() {}

#[policy_server::get("/2")]
#[policy_server::auth(public)]
#[policy_server::cors(origins = ["*"])]
async fn two() {}

#[policy_server::auth(public)]
#[policy_server::cors(origins = ["*"])]
#[policy_server::get("/3")]
async fn three() {}

#[policy_server::cors(origins = ["*"])]
#[policy_server::post("/4")]
#[policy_server::auth(public)]
async fn four(axum::Json(body): axum::Json<bool>) -> axum::Json<bool> {
    axum::Json(!body)
}

#[policy_server::auth(public)]
#[policy_server::post("/5")]
#[policy_server::get("/6")]
#[policy_server::cors(origins = ["*"])]
async fn five() {}

pub(crate) fn app() {
    let _ = policy_server::App::new(()).routes(policy_server::routes![one, two, three, four, five]);
}
