//! Objects as arguments: what is no object, and what nobody can load.
use policy_server::prelude::*;

#[derive(Clone)]
struct Db;

struct Close;

impl policy_server::object::Action for Close {
    const NAME: &'static str = "close";
}

#[derive(Object)]
#[rule(View = owner)]
#[rule(Edit = with(is_new))]
#[rule(Close = owner | engine)]
struct Order {
    #[object(key)]
    id: u64,
    #[object(owner)]
    customer: String,
}

fn is_new(_: &Order, _: &Principal) -> bool {
    true
}

impl Load for Order {
    type Source = Db;

    async fn load(_: &u64, _: &(), _: &Db) -> Result<Option<Self>, Problem> {
        Ok(None)
    }
}

type Mine = Allowed<Order>;

#[get("/alias/{order}")]
#[auth(session)]
async fn alias(order: Mine) {}

#[get("/optional/{order}")]
#[auth(session)]
async fn optional(order: Option<Allowed<Order>>) {}

#[get("/no-rule/{order}")]
#[auth(session)]
async fn no_rule(order: Allowed<Order, Delete>) {}

#[get("/no-rule")]
#[auth(session)]
async fn no_rule_of_list(orders: Scope<Order, Delete>) {}

#[get("/opaque")]
#[auth(session)]
async fn opaque(orders: Scope<Order, Edit>) {}

#[get("/engine")]
#[auth(session)]
async fn of_engine(orders: Scope<Order, Close>) {}

/// Nothing says how it is loaded.
#[derive(Object)]
#[rule(View = anyone)]
struct Loose {
    #[object(key)]
    id: u64,
}

#[get("/loose/{loose}")]
#[auth(session)]
async fn loose(loose: Allowed<Loose>) {}

mod own {
    pub(super) struct Allowed<T>(pub(super) T);
}

#[get("/own/{order}")]
#[auth(session)]
async fn own_type(order: own::Allowed<Order>) {}

fn main() {
    let _ = App::new(()).routes(routes![no_state]);
    let _ = App::new(Db).routes(routes![no_rule]);
}

#[get("/state/{order}")]
#[auth(session)]
async fn no_state(order: Allowed<Order>) {}
