// The examples in `../bad`, corrected.

mod unsaid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(private)]
    async fn orders() {}
}

mod no_store_not_alone {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(no_store)]
    async fn orders() {}
}

mod private_and_public {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, max_age = 60)]
    async fn orders() {}
}

mod personal_and_shared {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cache(private, max_age = 60)]
    async fn orders() {}
}

mod personal_and_unsaid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cache(private, max_age = 60)]
    async fn orders() {}
}

mod immutable_and_no_cache {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, max_age = 60, immutable)]
    async fn orders() {}
}

mod immutable_without_age {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, immutable, max_age = 31536000)]
    async fn orders() {}
}

mod stale_without_age {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, max_age = 60, stale_while_revalidate = 60)]
    async fn orders() {}
}

mod stale_and_revalidated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, max_age = 60, must_revalidate)]
    async fn orders() {}
}

mod shared_age_of_private {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(private, max_age = 600)]
    async fn orders() {}
}

mod age_out_of_bounds {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, max_age = 60)]
    async fn orders() {}
}

mod vary_any {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, vary = ["accept-language"])]
    async fn orders() {}
}

mod vary_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, vary = ["accept-language"])]
    async fn orders() {}
}

mod vary_repeated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cache(public, vary = ["accept"])]
    async fn orders() {}
}

mod method {
    use policy_server::prelude::*;

    #[put("/orders")]
    #[auth(public)]
    #[cache(no_store)]
    async fn orders() {}
}

mod query {
    use policy_server::prelude::*;

    #[query("/orders")]
    #[auth(public)]
    #[cache(no_store)]
    async fn orders() {}
}

mod method_without_age {
    use policy_server::prelude::*;

    #[post("/orders")]
    #[auth(public)]
    #[cache(private, max_age = 60)]
    async fn orders() {}
}
