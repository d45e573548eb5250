//! Lists by rules that no database can decide.
use policy_server::prelude::*;

#[derive(Object)]
#[rule(View = owner)]
#[rule(Edit = owner | engine)]
struct Order {
    #[object(key)]
    id: u64,
    #[object(owner)]
    customer: String,
}

#[get("/orders")]
#[auth(session)]
async fn list(orders: Scope<Order, Edit>) -> String {
    orders.sql(1).sql
}

fn main() {
    let _ = App::new(()).routes(routes![list]);
}
