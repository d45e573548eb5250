// The examples in `../bad`, corrected.

mod csp_empty {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "default-src 'self'")]
    async fn orders() {}
}

mod csp_directive_unknown {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "script-src 'self'")]
    async fn orders() {}
}

mod csp_directive_repeated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "img-src 'self' data:")]
    async fn orders() {}
}

mod csp_directive_empty {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "default-src 'self'; font-src 'none'")]
    async fn orders() {}
}

mod csp_source_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "img-src https:")]
    async fn orders() {}
}

mod csp_keyword_unquoted {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "img-src 'self'")]
    async fn orders() {}
}

mod csp_keyword_unknown {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "script-src 'self'")]
    async fn orders() {}
}

mod csp_nonce_fixed {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "script-src 'nonce'")]
    async fn orders() {}
}

mod csp_source_misplaced {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "script-src 'nonce'")]
    async fn orders() {}
}

mod csp_none_not_alone {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "img-src 'self'")]
    async fn orders() {}
}

mod csp_strict_dynamic_alone {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "script-src 'strict-dynamic' 'nonce'")]
    async fn orders() {}
}

mod csp_scripts_inline {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "script-src 'self' 'nonce'")]
    async fn orders() {}
}

mod csp_scripts_of_anybody {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "script-src https://cdn.example")]
    async fn orders() {}
}

mod frame_twice {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(frame = same_origin)]
    async fn orders() {}
}

mod frame_empty {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(frame = none)]
    async fn orders() {}
}

mod referrer_unknown {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(referrer = "no-referrer")]
    async fn orders() {}
}

mod referrer_whole {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(referrer = "strict-origin-when-cross-origin")]
    async fn orders() {}
}

mod permission_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(permissions = ["camera=()"])]
    async fn orders() {}
}

mod permission_repeated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(permissions = ["camera=(self)"])]
    async fn orders() {}
}

mod coop_unknown {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(coop = "same-origin")]
    async fn orders() {}
}

mod coep_unknown {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(coep = "require-corp")]
    async fn orders() {}
}

mod corp_unknown {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(corp = "same-origin")]
    async fn orders() {}
}

mod corp_of_shared {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[jsonp(callback = "callback")]
    #[headers(corp = "cross-origin")]
    async fn orders() -> Json<u64> {
        Json(7)
    }
}

mod hsts_out_of_bounds {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(hsts = 31536000)]
    async fn orders() {}
}

mod hsts_preload {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(hsts = 31536000, include_subdomains, preload)]
    async fn orders() {}
}
