//! What the compiler refuses, one mistake a module, named by its code: the pages of `cargo policy
//! code` and the guide show them.
#![deny(deprecated)]
#![allow(dead_code, unused_imports, unused_variables)]

mod path_start {
    use policy_server::prelude::*;

    #[get("orders")]
    #[auth(public)]
    async fn orders() {}
}

mod path_byte {
    use policy_server::prelude::*;

    #[get("/orders?page=1")]
    #[auth(public)]
    async fn orders() {}
}

mod path_segment {
    use policy_server::prelude::*;

    #[get("/orders//all")]
    #[auth(public)]
    async fn orders() {}
}

mod path_parameter {
    use policy_server::prelude::*;

    #[get("/orders/{id}.png")]
    #[auth(public)]
    async fn orders(id: u64) {}
}

mod path_rest {
    use policy_server::prelude::*;

    #[get("/{*rest}/orders")]
    #[auth(public)]
    async fn orders(rest: String) {}
}

mod path_parameter_repeated {
    use policy_server::prelude::*;

    #[get("/{id}/{id}")]
    #[auth(public)]
    async fn orders(id: u64) {}
}

mod method {
    use policy_server::prelude::*;

    #[route(TRACE, "/orders")]
    #[auth(public)]
    async fn orders() {}
}

fn main() {}
