//! What the compiler refuses, one mistake a module, named by its code: the pages of `cargo policy
//! code` and the guide show them.
#![deny(deprecated)]
#![allow(dead_code, unused_imports, unused_variables)]

mod not_a_function {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    struct Orders;
}

mod not_async {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    fn orders() {}
}

mod r#unsafe {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async unsafe fn orders() {}
}

mod generic {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    async fn orders<T: Send>(order: Json<T>) {}
}

mod where_clause {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    async fn orders(order: String)
    where
        String: Send,
    {
    }
}

mod method {
    use policy_server::prelude::*;

    struct Orders;

    impl Orders {
        #[get("/orders")]
        #[auth(public)]
        async fn list(&self) {}
    }
}

mod paths_differ {
    use policy_server::prelude::*;

    #[get("/orders/{id}")]
    #[get("/lamps/{lamp}")]
    #[auth(public)]
    async fn order(id: u64) {}
}

mod parameter_not_taken {
    use policy_server::prelude::*;

    #[get("/orders/{id}")]
    #[auth(public)]
    async fn order() {}
}

mod argument_conditional {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    async fn orders(#[cfg(unix)] order: String) {}
}

mod argument_borrowed {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    async fn orders(order: &str) {}
}

mod extractor_of_axum {
    use policy_server::prelude::*;

    #[get("/orders/{id}")]
    #[auth(public)]
    async fn order(id: axum::extract::Path<u64>) {}
}

mod not_an_extractor {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders(page: u32) {}
}

mod state_part {
    use policy_server::prelude::*;

    #[derive(Clone)]
    struct Shelf;

    #[derive(Clone)]
    struct Shop {
        shelf: Shelf,
    }

    #[get("/orders")]
    #[auth(public)]
    async fn orders(shelf: State<Shelf>) {}

    fn app(shop: Shop) -> App<Shop> {
        App::new(shop).routes(routes![orders])
    }
}

mod body_not_last {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    async fn orders(order: Json<String>, Query(page): Query<u32>) {}
}

mod body_twice {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    async fn orders(order: Json<String>, text: String) {}
}

mod body_of_get {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders(filter: Json<String>) {}
}

mod parameter_type {
    use policy_server::prelude::*;

    struct Id(u64);

    #[get("/orders/{id}")]
    #[auth(public)]
    async fn order(id: Id) {}
}

mod not_a_response {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders() -> Vec<u64> {
        vec![1, 2]
    }
}

mod error_not_a_problem {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders() -> Result<String, Problem> {
        let orders = std::fs::read_to_string("orders");
        orders.map_err(Problem::from)
    }
}

mod not_a_layer {
    use policy_server::prelude::*;

    struct Gzip;

    #[get("/orders")]
    #[auth(public)]
    #[layer(Gzip)]
    async fn orders() {}
}

mod not_validated {
    use policy_server::prelude::*;

    #[derive(serde::Deserialize)]
    struct Order {
        lamps: u32,
    }

    #[post("/orders")]
    #[auth(public)]
    async fn orders(order: Valid<Json<Order>>) {}
}

fn main() {}
