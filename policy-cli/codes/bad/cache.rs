//! What the compiler refuses, one mistake a module, named by its code: the pages of `cargo policy
//! code` and the guide show them.
#![deny(deprecated)]
#![allow(dead_code, unused_imports, unused_variables)]

mod unsaid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache]
    async fn orders() {}
}

mod no_store_not_alone {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(no_store, max_age = 60)]
    async fn orders() {}
}

mod private_and_public {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(private, public)]
    async fn orders() {}
}

mod personal_and_shared {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cache(public, max_age = 60)]
    async fn orders() {}
}

mod personal_and_unsaid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cache(max_age = 60)]
    async fn orders() {}
}

mod immutable_and_no_cache {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, max_age = 60, immutable, no_cache)]
    async fn orders() {}
}

mod immutable_without_age {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, immutable)]
    async fn orders() {}
}

mod stale_without_age {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, stale_while_revalidate = 60)]
    async fn orders() {}
}

mod stale_and_revalidated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, max_age = 60, must_revalidate, stale_if_error = 60)]
    async fn orders() {}
}

mod shared_age_of_private {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(private, s_maxage = 600)]
    async fn orders() {}
}

mod age_out_of_bounds {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, max_age = -1)]
    async fn orders() {}
}

mod vary_any {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, vary = ["*"])]
    async fn orders() {}
}

mod vary_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, vary = ["accept language"])]
    async fn orders() {}
}

mod vary_repeated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, vary = ["accept", "accept"])]
    async fn orders() {}
}

mod method {
    use policy_server::prelude::*;

    #[put("/orders")]
    #[auth(public)]
    #[cache(private, max_age = 60)]
    async fn orders() {}
}

mod query {
    use policy_server::prelude::*;

    #[query("/orders")]
    #[auth(public)]
    #[cache(private, max_age = 60)]
    async fn orders() {}
}

mod method_without_age {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[cache(private)]
    async fn orders() {}
}

fn main() {}
