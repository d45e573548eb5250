//! What the compiler refuses, one mistake a module, named by its code: the pages of `cargo policy
//! code` and the guide show them.
#![deny(deprecated)]
#![allow(dead_code, unused_imports, unused_variables)]

mod body_malformed {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(body = "1 mb")]
    async fn orders() {}
}

mod body_out_of_bounds {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(body = "0 B")]
    async fn orders() {}
}

mod timeout_malformed {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(timeout = "5 seconds")]
    async fn orders() {}
}

mod timeout_out_of_bounds {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(timeout = "0s")]
    async fn orders() {}
}

mod rate_malformed {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(rate = "100 per minute")]
    async fn orders() {}
}

mod rate_out_of_bounds {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(rate = "0/min")]
    async fn orders() {}
}

mod rate_of_nobody {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(rate = "100/min per principal")]
    async fn orders() {}
}

mod concurrency_zero {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(concurrency = 0)]
    async fn orders() {}
}

mod message_malformed {
    use policy_server::prelude::*;

    #[get("/live")]
    #[auth(public)]
    #[limit(message = "64 kb")]
    async fn live() {}
}

mod message_out_of_bounds {
    use policy_server::prelude::*;

    #[get("/live")]
    #[auth(public)]
    #[limit(message = "0 B")]
    async fn live() {}
}

mod silence_malformed {
    use policy_server::prelude::*;

    #[get("/live")]
    #[auth(public)]
    #[limit(silence = "5 minutes")]
    async fn live() {}
}

mod silence_out_of_bounds {
    use policy_server::prelude::*;

    #[get("/live")]
    #[auth(public)]
    #[limit(silence = "0s")]
    async fn live() {}
}

mod sockets_zero {
    use policy_server::prelude::*;

    #[get("/live")]
    #[auth(public)]
    #[limit(sockets = 0)]
    async fn live() {}
}

mod misses_malformed {
    use policy_server::prelude::*;

    #[get("/drafts")]
    #[auth(session)]
    #[limit(misses = "20/min per principal")]
    async fn drafts() {}
}

mod misses_out_of_bounds {
    use policy_server::prelude::*;

    #[get("/drafts")]
    #[auth(session)]
    #[limit(misses = "0/min")]
    async fn drafts() {}
}

fn main() {}
