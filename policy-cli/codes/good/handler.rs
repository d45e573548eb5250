// The examples in `../bad`, corrected.

mod not_a_function {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod not_async {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod r#unsafe {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod generic {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    async fn orders(order: Json<String>) {}
}

mod where_clause {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    async fn orders(order: String) {}
}

mod method {
    use policy_server::prelude::*;

    #[derive(Clone)]
    struct Orders;

    #[get("/orders")]
    #[auth(public)]
    async fn list(State(orders): State<Orders>) {}
}

mod paths_differ {
    use policy_server::prelude::*;

    #[get("/orders/{id}")]
    #[get("/lamps/{id}")]
    #[auth(public)]
    async fn order(id: u64) {}
}

mod parameter_not_taken {
    use policy_server::prelude::*;

    #[get("/orders/{id}")]
    #[auth(public)]
    async fn order(id: u64) {}
}

mod argument_conditional {
    use policy_server::prelude::*;

    #[cfg(unix)]
    #[post("/orders")]
    #[auth(public)]
    async fn orders(order: String) {}
}

mod argument_borrowed {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    async fn orders(order: String) {}
}

mod extractor_of_axum {
    use policy_server::prelude::*;

    #[get("/orders/{id}")]
    #[auth(public)]
    async fn order(id: u64) {}
}

mod not_an_extractor {
    use policy_server::prelude::*;

    #[get("/orders/{page}")]
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

    impl FromRef<Shop> for Shelf {
        fn from_ref(shop: &Shop) -> Self {
            shop.shelf.clone()
        }
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
    async fn orders(Query(page): Query<u32>, order: Json<String>) {}
}

mod body_twice {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    async fn orders(order: Json<String>) {}
}

mod body_of_get {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders(filter: Query<Vec<(String, String)>>) {}
}

mod parameter_type {
    use policy_server::prelude::*;

    struct Id(u64);

    impl std::str::FromStr for Id {
        type Err = std::num::ParseIntError;

        fn from_str(text: &str) -> Result<Self, Self::Err> {
            text.parse().map(Self)
        }
    }

    #[get("/orders/{id}")]
    #[auth(public)]
    async fn order(id: Id) {}
}

mod not_a_response {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders() -> Json<Vec<u64>> {
        Json(vec![1, 2])
    }
}

mod error_not_a_problem {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders() -> Result<String, Problem> {
        let orders = std::fs::read_to_string("orders").or_internal()?;
        Ok(orders)
    }
}

mod not_a_layer {
    use policy_server::prelude::*;

    type Gzip = tower_layer::Identity;

    #[get("/orders")]
    #[auth(public)]
    #[layer(Gzip::new())]
    async fn orders() {}
}

mod not_validated {
    use policy_server::prelude::*;

    #[derive(serde::Deserialize)]
    struct Order {
        lamps: u32,
    }

    impl Validate for Order {
        fn validate(&self) -> Result<(), Invalid> {
            Invalid::new().check(self.lamps > 0, "/lamps", "must be at least 1").result()
        }
    }

    #[post("/orders")]
    #[auth(public)]
    async fn orders(order: Valid<Json<Order>>) {}
}
