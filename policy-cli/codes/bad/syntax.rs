//! What the compiler refuses, one mistake a module, named by its code: the pages of `cargo policy
//! code` and the guide show them.
#![deny(deprecated)]
#![allow(dead_code, unused_imports, unused_variables)]

mod malformed {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(private max_age = 60)]
    async fn orders() {}
}

mod unknown_word {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(sesion)]
    async fn orders() {}
}

mod unknown_argument {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session, role = ["admin"])]
    async fn orders() {}
}

mod value_missing {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session, roles)]
    async fn orders() {}
}

mod value_unwanted {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(private = true)]
    async fn orders() {}
}

mod argument_repeated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(private, private)]
    async fn orders() {}
}

mod list_expected {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session, roles = "admin")]
    async fn orders() {}
}

mod literals_expected {
    use policy_server::prelude::*;

    const ADMIN: &str = "camera=()";

    #[get("/orders")]
    #[auth(public)]
    #[headers(permissions = [ADMIN])]
    async fn orders() {}
}

mod string_expected {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(timeout = 5)]
    async fn orders() {}
}

mod seconds_expected {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(private, max_age = "1m")]
    async fn orders() {}
}

mod number_expected {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit(concurrency = "64")]
    async fn orders() {}
}

mod attribute_empty {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[limit]
    async fn orders() {}
}

mod one_word_expected {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(session)]
    #[csrf(origin_else_token, origin)]
    async fn orders() {}
}

mod policy_not_alone {
    use policy_server::prelude::*;

    const PAGES: CorsPolicy = CorsPolicy::origins(&["https://app.example.com"]).build();

    #[get("/orders")]
    #[auth(public)]
    #[cors(PAGES, max_age = 600)]
    async fn orders() {}
}

mod policy_name_expected {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache("an hour")]
    async fn orders() {}
}

mod callers_not_joined {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session, token)]
    async fn orders() {}
}

mod config_name {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = config())]
    async fn orders() {}
}

mod config_argument {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = config("partners", bound = ["https://*.example.com"]))]
    async fn orders() {}
}

mod parentheses_missing {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth = "public"]
    async fn orders() {}
}

mod attribute_repeated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[auth(public)]
    async fn orders() {}
}

mod route_attribute_missing {
    use policy_server::prelude::*;

    #[auth(public)]
    async fn orders() {}
}

mod path_missing {
    use policy_server::prelude::*;

    #[get]
    #[auth(public)]
    async fn orders() {}
}

mod path_repeated {
    use policy_server::prelude::*;

    #[get("/orders", "/lamps")]
    #[auth(public)]
    async fn orders() {}
}

mod operation_id {
    use policy_server::prelude::*;

    #[get("/orders", id = "list orders")]
    #[auth(public)]
    async fn orders() {}
}

mod method_missing {
    use policy_server::prelude::*;

    #[route("/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod method_expected {
    use policy_server::prelude::*;

    #[route(methods::PURGE, "/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod method_case {
    use policy_server::prelude::*;

    #[route(get, "/orders")]
    #[auth(public)]
    async fn orders() {}
}

mod parameter_style {
    use policy_server::prelude::*;

    #[get("/orders/:id")]
    #[auth(public)]
    async fn order(id: u64) {}
}

fn main() {}
