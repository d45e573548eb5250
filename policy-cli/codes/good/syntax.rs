// The examples in `../bad`, corrected.

mod malformed {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(private, max_age = 60)]
    async fn orders() {}
}

mod unknown_word {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    async fn orders() {}
}

mod unknown_argument {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session, roles = ["admin"])]
    async fn orders() {}
}

mod value_missing {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session, roles = ["admin"])]
    async fn orders() {}
}

mod value_unwanted {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(private)]
    async fn orders() {}
}

mod argument_repeated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(private)]
    async fn orders() {}
}

mod list_expected {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session, roles = ["admin"])]
    async fn orders() {}
}

mod literals_expected {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(permissions = ["camera=()"])]
    async fn orders() {}
}

mod string_expected {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(timeout = "5s")]
    async fn orders() {}
}

mod seconds_expected {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(private, max_age = 60)]
    async fn orders() {}
}

mod number_expected {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(concurrency = 64)]
    async fn orders() {}
}

mod attribute_empty {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(timeout = "5s")]
    async fn orders() {}
}

mod one_word_expected {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(session)]
    #[csrf(origin)]
    async fn orders() {}
}

mod policy_not_alone {
    use policy_server::prelude::*;

    const PAGES: CorsPolicy = CorsPolicy::origins(&["https://app.example.com"]).max_age(600).build();

    #[get("/orders")]
    #[auth(public)]
    #[cors(PAGES)]
    async fn orders() {}
}

mod policy_name_expected {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(private, max_age = 3600)]
    async fn orders() {}
}

mod callers_not_joined {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session | token)]
    async fn orders() {}
}

mod config_name {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = config("partners"))]
    async fn orders() {}
}

mod config_argument {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = config("partners", within = ["https://*.example.com"]))]
    async fn orders() {}
}

mod parentheses_missing {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod attribute_repeated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod route_attribute_missing {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod path_missing {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod path_repeated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[get("/lamps")]
    #[auth(public)]
    async fn orders() {}
}

mod operation_id {
    use policy_server::prelude::*;

    #[get("/orders", id = "list_orders")]
    #[auth(public)]
    async fn orders() {}
}

mod method_missing {
    use policy_server::prelude::*;

    #[route(PURGE, "/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod method_expected {
    use policy_server::prelude::*;

    #[route(PURGE, "/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod method_case {
    use policy_server::prelude::*;

    #[route(GET, "/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod parameter_style {
    use policy_server::prelude::*;

    #[get("/orders/{id}")]
    #[auth(public)]
    async fn order(id: u64) {}
}
