//! What the compiler refuses, one mistake a module, named by its code: the pages of `cargo policy
//! code` and the guide show them.
#![deny(deprecated)]
#![allow(dead_code, unused_imports, unused_variables)]

mod parameter_missing {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[jsonp(dotted)]
    async fn orders() -> Json<u64> {
        Json(7)
    }
}

mod parameter_name {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[jsonp(callback = "call back")]
    async fn orders() -> Json<u64> {
        Json(7)
    }
}

mod method {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[jsonp(callback = "callback")]
    async fn orders() -> Json<u64> {
        Json(7)
    }
}

mod not_public {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[jsonp(callback = "callback")]
    async fn orders() -> Json<u64> {
        Json(7)
    }
}

mod with_session {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[jsonp(callback = "callback")]
    async fn orders(session: Session) -> Json<u64> {
        Json(7)
    }
}

mod with_csrf {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[csrf(origin)]
    #[jsonp(callback = "callback")]
    async fn orders() -> Json<u64> {
        Json(7)
    }
}

fn main() {}
