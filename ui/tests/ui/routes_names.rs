//! Names in a list of routes that are nearly right.
use policy_server::prelude::*;

mod orders {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn all() {}

    #[get("/orders/first")]
    #[auth(public)]
    pub(super) async fn first() {}
}

struct Orders;

impl Orders {
    async fn last() {}
}

#[get("/prices")]
#[auth(public)]
async fn prices() {}

async fn stocks() {}

fn main() {
    // Without `pub`, and with a letter too few.
    let _ = App::new(()).routes(routes![orders::all, orders::frist, price]);
    // Methods are no handlers, and this function has no attribute.
    let _ = App::new(()).routes(routes![Orders::last, stocks]);
    let _ = App::new(()).routes(routes![orders::first, prices]);
}
