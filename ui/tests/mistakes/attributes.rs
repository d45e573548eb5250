//! Everyday mistakes in attributes.
#![allow(unused_variables)]
use axum::extract::Path;
use policy_server::prelude::*;

#[get("orders")]
#[auth(public)]
async fn path_without_slash() {}

#[get("/orders/:id")]
#[auth(public)]
async fn colon_parameter(id: u64) {}

#[get("/orders/<id>")]
#[auth(public)]
async fn angle_parameter(id: u64) {}

#[get("/orders/{id}")]
#[auth(public)]
async fn other_name(order_id: u64) {}

#[get]
#[auth(public)]
async fn no_path() {}

#[get("/a", "/b")]
#[auth(public)]
async fn two_paths() {}

#[get(path = "/a")]
#[auth(public)]
async fn named_path() {}

#[get("/a")]
async fn no_auth() {}

#[get("/a")]
#[auth(session && token)]
async fn both_credentials() {}

#[get("/a")]
#[auth(session or token)]
async fn word_between() {}

#[get("/a")]
#[auth(roles = ["admin"])]
async fn roles_alone() {}

#[get("/a")]
#[auth(role = "admin")]
async fn one_role() {}

#[get("/a")]
#[auth(session, roles = [admin])]
async fn role_without_quotes() {}

#[get("/a")]
#[auth(session, roles = "admin")]
async fn role_without_brackets() {}

#[get("/a")]
#[auth(Session)]
async fn upper_case() {}

#[get("/a")]
#[auth(jwt)]
async fn other_word() {}

#[get("/a")]
#[auth = "session"]
async fn assigned() {}

#[get("/a")]
#[auth(public, session)]
async fn public_or_session() {}

#[get("/a")]
#[auth(group, session)]
async fn group_or_session() {}

#[get("/a")]
#[auth(group | token)]
async fn group_or_token() {}

#[get("/a")]
#[auth(session, fresh = 10)]
async fn time_without_unit() {}

#[get("/a")]
#[cors(origins = "*")]
#[auth(public)]
async fn origin_without_brackets() {}

#[get("/a")]
#[cors(origins = ["*"], credentials)]
#[auth(session)]
async fn any_origin_with_credentials() {}

#[get("/a")]
#[cors(origin = ["https://app.example"])]
#[auth(public)]
async fn singular() {}

#[get("/a")]
#[cors(origins = ["https://app.example/"])]
#[auth(public)]
async fn origin_with_slash() {}

#[get("/a")]
#[cors(origins = ["app.example"])]
#[auth(public)]
async fn origin_without_scheme() {}

#[put("/a")]
#[cors(origins = ["https://app.example"], methods = [PUT])]
#[auth(public)]
async fn method_without_quotes() {}

#[get("/a")]
#[cors(origins = ["https://app.example"], credentials = true)]
#[auth(session)]
async fn flag_with_value() {}

#[get("/a")]
#[cors(allow_origins = ["https://app.example"])]
#[auth(public)]
async fn name_of_another_crate() {}

#[post("/a")]
#[csrf(off)]
#[auth(session)]
async fn csrf_off() {}

#[post("/a")]
#[csrf(exempt)]
#[auth(session)]
async fn exempt_without_reason() {}

#[post("/a")]
#[limit(body = 5 MiB)]
#[auth(public)]
async fn size_without_quotes() {}

#[post("/a")]
#[limit(timeout = 5)]
#[auth(public)]
async fn timeout_without_unit() {}

#[get("/a")]
#[cache(public, max_age = "60")]
#[auth(public)]
async fn age_in_quotes() {}

#[get("/a")]
#[auth(public)]
fn not_async() {}

#[get("/a")]
#[auth(public)]
async fn generic<T>(value: T) {}

#[get("/a/{name}")]
#[auth(public)]
async fn borrowed(name: &str) {}

#[get("/a")]
#[auth(public)]
async fn any_type(value: impl Send) {}

#[get("/a/{id}")]
#[auth(public)]
async fn path_of_axum(Path(id): Path<u64>) {}

#[post("/a")]
#[auth(public)]
async fn body_first(body: Json<u8>, page: Query<u8>) {}

#[post("/a")]
#[auth(public)]
async fn two_bodies(body: Json<u8>, form: Form<u8>) {}

#[get("/a")]
#[auth(public)]
async fn user_of_public(user: Principal) {}

#[get("/a")]
#[auth(public)]
async fn status_last() -> (Json<u8>, StatusCode) {
    (Json(1), StatusCode::CREATED)
}

struct Service;

impl Service {
    #[get("/a")]
    #[auth(public)]
    async fn method(&self) {}
}

fn main() {}
