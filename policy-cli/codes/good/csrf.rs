// The examples in `../bad`, corrected.

mod exempt_without_reason {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(session)]
    #[csrf(exempt = "the gateway signs these requests")]
    async fn orders() {}
}

mod nothing_to_forge {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(token)]
    async fn orders() {}
}

mod without_session {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    async fn orders() {}
}
