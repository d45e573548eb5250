//! Everyday mistakes in the types of a handler.
#![allow(unused_variables)]
use policy_server::prelude::*;

struct Pool;

#[derive(Clone)]
struct Db;

impl FromRef<Service> for Db {
    fn from_ref(_: &Service) -> Self {
        Self
    }
}

#[derive(Clone)]
struct Mail;

#[derive(Clone)]
struct Service;

struct Order;

struct ShopError;

type ShopResult<T> = Result<T, ShopError>;

#[get("/a")]
#[auth(public)]
async fn state_without_clone(State(pool): State<Pool>) {}

#[get("/b")]
#[auth(public)]
async fn state_without_from_ref(State(mail): State<Mail>) {}

#[get("/c")]
#[auth(public)]
async fn state_as_argument(service: Service) {}

#[get("/d")]
#[auth(public)]
async fn struct_as_argument(order: Order, page: Query<u8>) {}

#[post("/e")]
#[auth(public)]
async fn body_as_argument(page: Query<u8>, order: Order) {}

#[get("/f/{order}")]
#[auth(public)]
async fn parameter_that_is_not_parsed(order: Order) {}

#[post("/g")]
#[auth(public)]
async fn body_without_deserialize(order: Json<Order>) {}

#[get("/h")]
#[auth(public)]
async fn query_without_deserialize(order: Query<Order>) {}

#[get("/i")]
#[auth(public)]
async fn json_without_serialize() -> Json<Order> {
    Json(Order)
}

#[get("/j")]
#[auth(public)]
async fn no_response() -> Order {
    Order
}

#[get("/k")]
#[auth(public)]
async fn numbers() -> Vec<u64> {
    vec![1]
}

#[get("/l")]
#[auth(public)]
async fn number() -> u64 {
    1
}

#[get("/n")]
#[auth(public)]
async fn error_of_ones_own() -> Result<String, ShopError> {
    Err(ShopError)
}

#[get("/o")]
#[auth(public)]
async fn alias_of_a_result() -> ShopResult<Json<u8>> {
    Err(ShopError)
}

#[get("/p")]
#[auth(public)]
async fn error_of_another_crate() -> Result<String, std::io::Error> {
    std::fs::read_to_string("motd")
}

#[get("/q")]
#[auth(public)]
async fn boxed_error() -> Result<String, Box<dyn std::error::Error>> {
    Ok(std::fs::read_to_string("motd")?)
}

#[get("/r")]
#[auth(public)]
async fn question_mark() -> Result<String, Problem> {
    Ok(std::fs::read_to_string("motd")?)
}

#[get("/s")]
#[auth(public)]
async fn question_mark_on_an_option() -> Result<String, Problem> {
    let first = Vec::<String>::new().pop()?;
    Ok(first)
}

#[get("/t")]
#[auth(public)]
async fn value_of_no_response() -> Result<Order, Problem> {
    Ok(Order)
}

#[get("/u")]
#[auth(public)]
async fn not_wrapped() -> Result<Json<u8>, Problem> {
    Ok(1)
}

#[get("/v")]
#[auth(public)]
async fn problem_without_call() -> Result<Json<u8>, Problem> {
    Err(Problem::not_found)
}

#[get("/w")]
#[auth(public)]
async fn one_type() -> Result<Json<u8>> {
    Ok(Json(1))
}

#[post("/x")]
#[auth(public)]
async fn validated_without_rules(order: Valid<Json<u8>>) {}

#[get("/y")]
#[auth(public)]
#[layer(timing)]
async fn layer_that_is_a_function() {}

async fn timing() {}

#[post("/z")]
#[auth(public)]
async fn one_role_of_a_user(sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login(Identity::new("ada").roles("admin")).await?)
}

#[post("/aa")]
#[auth(public)]
async fn without_await(sessions: Sessions) -> Result<(), Problem> {
    Ok(sessions.login("ada")?)
}

fn main() {
    let _ = App::new(Service).routes(routes![state_without_from_ref]);
    let _ = App::new(Service).routes(routes![state_as_argument]);
    let _ = App::new(Service).routes(routes![struct_as_argument]);
    let _ = App::new(Service).routes(routes![body_as_argument]);
    let _ = App::new(()).routes(routes![state_without_from_ref]);
}
