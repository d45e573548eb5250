// The examples in `../bad`, corrected.

mod origins_missing {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"])]
    async fn orders() {}
}

mod any_origin_not_alone {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["*"])]
    async fn orders() {}
}

mod any_origin_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["https://app.example.com"], credentials)]
    async fn orders() {}
}

mod null_origin {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"])]
    async fn orders() {}
}

mod file_origin {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["http://localhost:3000"])]
    async fn orders() {}
}

mod origin_too_long {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://a.example"])]
    async fn orders() {}
}

mod origin_scheme {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"])]
    async fn orders() {}
}

mod origin_path {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"])]
    async fn orders() {}
}

mod origin_userinfo {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"])]
    async fn orders() {}
}

mod origin_space {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"])]
    async fn orders() {}
}

mod origin_upper_case {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"])]
    async fn orders() {}
}

mod origin_not_ascii {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://xn--bcher-kva.example"])]
    async fn orders() {}
}

mod origin_host {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"])]
    async fn orders() {}
}

mod origin_punycode {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://xn--bcher-kva.example"])]
    async fn orders() {}
}

mod origin_address {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://192.0.2.1"])]
    async fn orders() {}
}

mod origin_mapped_address {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://192.0.2.1"])]
    async fn orders() {}
}

mod origin_wildcard {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://*.example.com"])]
    async fn orders() {}
}

mod origin_port {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com:8443"])]
    async fn orders() {}
}

mod origin_default_port {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"])]
    async fn orders() {}
}

mod insecure_origin_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["https://app.example.com"], credentials)]
    async fn orders() {}
}

mod unknown_scheme_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["app://shop"], credentials)]
    async fn orders() {}
}

mod platform_names_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["https://shop-*-acme.example.com"], credentials)]
    async fn orders() {}
}

mod extension_part {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(extend, headers = ["traceparent"])]
    async fn orders() {}
}

mod public_suffix_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["https://ada.github.io"], credentials)]
    async fn orders() {}
}

mod origin_repeated {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"])]
    async fn orders() {}
}

mod origin_covered {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://*.example.com"])]
    async fn orders() {}
}

mod bound_missing {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = config("partners", within = ["https://*.partners.example"]), credentials)]
    async fn orders() {}
}

mod method_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], methods = ["GET"])]
    async fn orders() {}
}

mod method_forbidden {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], methods = ["GET"])]
    async fn orders() {}
}

mod any_method_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["https://app.example.com"], credentials, methods = ["GET"])]
    async fn orders() {}
}

mod header_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], headers = ["x-request-id"])]
    async fn orders() {}
}

mod header_forbidden {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], headers = ["x-request-id"])]
    async fn orders() {}
}

mod header_of_response {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], headers = ["x-request-id"])]
    async fn orders() {}
}

mod any_header_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["https://app.example.com"], credentials, headers = ["x-request-id"])]
    async fn orders() {}
}

mod header_safelisted {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"])]
    async fn orders() {}
}

mod expose_invalid {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], expose = ["x-total"])]
    async fn orders() {}
}

mod expose_forbidden {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], expose = ["etag"])]
    async fn orders() {}
}

mod expose_of_request {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], expose = ["etag"])]
    async fn orders() {}
}

mod any_expose_with_credentials {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(session)]
    #[cors(origins = ["https://app.example.com"], credentials, expose = ["etag"])]
    async fn orders() {}
}

mod expose_safelisted {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"])]
    async fn orders() {}
}

mod max_age_out_of_bounds {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], max_age = 600)]
    async fn orders() {}
}

mod max_age_capped {
    use policy_server::prelude::*;

    #[get("/orders")]
    #[auth(public)]
    #[cors(origins = ["https://app.example.com"], max_age = 7200)]
    async fn orders() {}
}
