// The examples in `../bad`, corrected.

mod parameter_missing {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[jsonp(callback = "callback")]
    async fn orders() -> Json<u64> {
        Json(7)
    }
}

mod parameter_name {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[jsonp(callback = "callback")]
    async fn orders() -> Json<u64> {
        Json(7)
    }
}

mod method {
    use policy_server::prelude::*;

    #[get("/orders")]
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
    #[cors(origins = ["https://app.example.com"], credentials)]
    async fn orders() -> Json<u64> {
        Json(7)
    }
}

mod with_session {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[jsonp(callback = "callback")]
    async fn orders() -> Json<u64> {
        Json(7)
    }
}

mod with_csrf {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[jsonp(callback = "callback")]
    async fn orders() -> Json<u64> {
        Json(7)
    }
}
