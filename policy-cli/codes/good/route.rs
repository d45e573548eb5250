// The examples in `../bad`, corrected.

mod path_start {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod path_byte {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod path_segment {
    use policy_server::prelude::*;

    #[get("/orders/all")]
    #[auth(public)]
    async fn orders() {}
}

mod path_parameter {
    use policy_server::prelude::*;

    #[get("/orders/{file}")]
    #[auth(public)]
    async fn orders(file: String) {}
}

mod path_rest {
    use policy_server::prelude::*;

    #[get("/orders/{*rest}")]
    #[auth(public)]
    async fn orders(rest: String) {}
}

mod path_parameter_repeated {
    use policy_server::prelude::*;

    #[get("/{user}/{order}")]
    #[auth(public)]
    async fn orders(user: u64, order: u64) {}
}

mod method {
    use policy_server::prelude::*;

    #[route(PURGE, "/orders")]
    #[auth(public)]
    async fn orders() {}
}
