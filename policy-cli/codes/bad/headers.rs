//! What the compiler refuses, one mistake a module, named by its code: the pages of `cargo policy
//! code` and the guide show them.
#![deny(deprecated)]
#![allow(dead_code, unused_imports, unused_variables)]

mod csp_empty {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = " ; ")]
    async fn orders() {}
}

mod csp_directive_unknown {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "scripts 'self'")]
    async fn orders() {}
}

mod csp_directive_repeated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "img-src 'self'; img-src data:")]
    async fn orders() {}
}

mod csp_directive_empty {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "default-src 'self'; font-src")]
    async fn orders() {}
}

mod csp_source_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "img-src https://")]
    async fn orders() {}
}

mod csp_keyword_unquoted {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "img-src self")]
    async fn orders() {}
}

mod csp_keyword_unknown {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "script-src 'own'")]
    async fn orders() {}
}

mod csp_nonce_fixed {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "script-src 'nonce-r4nd0m'")]
    async fn orders() {}
}

mod csp_source_misplaced {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "img-src 'nonce'")]
    async fn orders() {}
}

mod csp_none_not_alone {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "img-src 'none' 'self'")]
    async fn orders() {}
}

mod csp_strict_dynamic_alone {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "script-src 'strict-dynamic' 'self'")]
    async fn orders() {}
}

mod csp_scripts_inline {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "script-src 'self' 'unsafe-inline'")]
    async fn orders() {}
}

mod csp_scripts_of_anybody {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "script-src *")]
    async fn orders() {}
}

mod frame_twice {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(csp = "frame-ancestors 'self'", frame = same_origin)]
    async fn orders() {}
}

mod frame_empty {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(frame = [])]
    async fn orders() {}
}

mod referrer_unknown {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(referrer = "never")]
    async fn orders() {}
}

mod referrer_whole {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(referrer = "unsafe-url")]
    async fn orders() {}
}

mod permission_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(permissions = ["camera=none"])]
    async fn orders() {}
}

mod permission_repeated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(permissions = ["camera=()", "camera=(self)"])]
    async fn orders() {}
}

mod coop_unknown {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(coop = "Same-Origin")]
    async fn orders() {}
}

mod coep_unknown {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(coep = "require")]
    async fn orders() {}
}

mod corp_unknown {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(corp = "none")]
    async fn orders() {}
}

mod corp_of_shared {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[jsonp(callback = "callback")]
    #[headers(corp = "same-site")]
    async fn orders() {}
}

mod hsts_out_of_bounds {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(hsts = -1)]
    async fn orders() {}
}

mod hsts_preload {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[headers(hsts = 2592000, include_subdomains, preload)]
    async fn orders() {}
}

fn main() {}
