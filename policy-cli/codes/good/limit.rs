// The examples in `../bad`, corrected.

mod body_malformed {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(body = "1 MB")]
    async fn orders() {}
}

mod body_out_of_bounds {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(body = "1 MiB")]
    async fn orders() {}
}

mod timeout_malformed {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(timeout = "5s")]
    async fn orders() {}
}

mod timeout_out_of_bounds {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(timeout = "5s")]
    async fn orders() {}
}

mod rate_malformed {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(rate = "100/min")]
    async fn orders() {}
}

mod rate_out_of_bounds {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(rate = "100/min")]
    async fn orders() {}
}

mod rate_of_nobody {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(rate = "100/min per address")]
    async fn orders() {}
}

mod concurrency_zero {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(concurrency = 64)]
    async fn orders() {}
}

mod message_malformed {
    use policy_server::prelude::*;

    #[get("/live")]
    #[auth(public)]
    #[limit(message = "64 kB")]
    async fn live() {}
}

mod message_out_of_bounds {
    use policy_server::prelude::*;

    #[get("/live")]
    #[auth(public)]
    #[limit(message = "64 KiB")]
    async fn live() {}
}

mod silence_malformed {
    use policy_server::prelude::*;

    #[get("/live")]
    #[auth(public)]
    #[limit(silence = "5m")]
    async fn live() {}
}

mod silence_out_of_bounds {
    use policy_server::prelude::*;

    #[get("/live")]
    #[auth(public)]
    #[limit(silence = "5m")]
    async fn live() {}
}

mod sockets_zero {
    use policy_server::prelude::*;

    #[get("/live")]
    #[auth(public)]
    #[limit(sockets = 1000)]
    async fn live() {}
}

mod misses_malformed {
    use policy_server::prelude::*;

    #[get("/drafts")]
    #[auth(session)]
    #[limit(misses = "20/min")]
    async fn drafts() {}
}

mod misses_out_of_bounds {
    use policy_server::prelude::*;

    #[get("/drafts")]
    #[auth(session)]
    #[limit(misses = "20/min")]
    async fn drafts() {}
}
