//! What the compiler refuses, one mistake a module, named by its code: the pages of `cargo policy
//! code` and the guide show them.
#![deny(deprecated)]
#![allow(dead_code, unused_imports, unused_variables)]

mod origins_missing {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = [])]
    async fn orders() {}
}

mod any_origin_not_alone {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["*", "https://app.example.com"])]
    async fn orders() {}
}

mod any_origin_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["*"], credentials)]
    async fn orders() {}
}

mod null_origin {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["null"])]
    async fn orders() {}
}

mod file_origin {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["file://"])]
    async fn orders() {}
}

mod origin_too_long {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.example"])]
    async fn orders() {}
}

mod origin_scheme {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["app.example.com"])]
    async fn orders() {}
}

mod origin_path {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com/"])]
    async fn orders() {}
}

mod origin_userinfo {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://ada@app.example.com"])]
    async fn orders() {}
}

mod origin_space {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = [" https://app.example.com"])]
    async fn orders() {}
}

mod origin_upper_case {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://App.example.com"])]
    async fn orders() {}
}

mod origin_not_ascii {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://bücher.example"])]
    async fn orders() {}
}

mod origin_host {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app..example.com"])]
    async fn orders() {}
}

mod origin_punycode {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://xn--.example"])]
    async fn orders() {}
}

mod origin_address {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://192.0.2.01"])]
    async fn orders() {}
}

mod origin_mapped_address {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://[::ffff:c000:201]"])]
    async fn orders() {}
}

mod origin_wildcard {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app-*.example.com"])]
    async fn orders() {}
}

mod origin_port {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com:99999"])]
    async fn orders() {}
}

mod origin_default_port {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com:443"])]
    async fn orders() {}
}

mod insecure_origin_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["http://app.example.com"], credentials)]
    async fn orders() {}
}

mod unknown_scheme_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["shop://home"], credentials)]
    async fn orders() {}
}

mod platform_names_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["https://shop-*-acme.vercel.app"], credentials)]
    async fn orders() {}
}

mod extension_part {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(extend, origins = ["https://app.example.com"])]
    async fn orders() {}
}

mod public_suffix_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["https://*.github.io"], credentials)]
    async fn orders() {}
}

mod origin_repeated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com", "https://app.example.com"])]
    async fn orders() {}
}

mod origin_covered {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://*.example.com", "https://app.example.com"])]
    async fn orders() {}
}

mod bound_missing {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = config("partners"), credentials)]
    async fn orders() {}
}

mod method_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], methods = ["GE T"])]
    async fn orders() {}
}

mod method_forbidden {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], methods = ["GET", "TRACE"])]
    async fn orders() {}
}

mod any_method_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["https://app.example.com"], credentials, methods = ["*"])]
    async fn orders() {}
}

mod header_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], headers = ["x request id"])]
    async fn orders() {}
}

mod header_forbidden {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], headers = ["cookie"])]
    async fn orders() {}
}

mod header_of_response {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], headers = ["access-control-allow-origin"])]
    async fn orders() {}
}

mod any_header_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["https://app.example.com"], credentials, headers = ["*"])]
    async fn orders() {}
}

mod header_safelisted {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], headers = ["accept-language"])]
    async fn orders() {}
}

mod expose_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], expose = ["x:total"])]
    async fn orders() {}
}

mod expose_forbidden {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], expose = ["set-cookie"])]
    async fn orders() {}
}

mod expose_of_request {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], expose = ["origin"])]
    async fn orders() {}
}

mod any_expose_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["https://app.example.com"], credentials, expose = ["*"])]
    async fn orders() {}
}

mod expose_safelisted {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], expose = ["content-type"])]
    async fn orders() {}
}

mod max_age_out_of_bounds {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], max_age = 604800)]
    async fn orders() {}
}

mod max_age_capped {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], max_age = 86400)]
    async fn orders() {}
}

fn main() {}
