async fn orders() {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct orders {}
#[auth(__policy_consumed)]
const _: () = ();
#[isolation(__policy_consumed)]
const _: () = ();
#[headers(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    const __POLICY_DESCRIPTION: __policy::Description = __policy::Description {
        routes: &[("GET", "/orders")],
        policy: __policy::policy_core::route::RoutePolicy {
            auth: __policy::policy_core::auth::AuthPolicy::Public,
            headers: __policy::policy_core::route::Facet::Set(__policy::policy_core::headers::HeadersSpec {
                csp: ::core::option::Option::Some(
                    &[
                        __policy::policy_core::headers::csp::Directive(
                            __policy::policy_core::headers::csp::Name::DefaultSrc,
                            &[__policy::policy_core::headers::csp::Source::SelfOrigin],
                        ),
                        __policy::policy_core::headers::csp::Directive(
                            __policy::policy_core::headers::csp::Name::ScriptSrc,
                            &[
                                __policy::policy_core::headers::csp::Source::Nonce,
                                __policy::policy_core::headers::csp::Source::Host(
                                    "https://cdn.example",
                                ),
                            ],
                        ),
                        __policy::policy_core::headers::csp::Directive(
                            __policy::policy_core::headers::csp::Name::ImgSrc,
                            &[
                                __policy::policy_core::headers::csp::Source::Any,
                                __policy::policy_core::headers::csp::Source::Scheme("data:"),
                            ],
                        ),
                        __policy::policy_core::headers::csp::Directive(
                            __policy::policy_core::headers::csp::Name::Sandbox,
                            &[
                                __policy::policy_core::headers::csp::Source::Word(
                                    "allow-forms",
                                ),
                            ],
                        ),
                    ],
                ),
                frame: ::core::option::Option::Some(
                    __policy::policy_core::headers::Frame::Listed(
                        &["https://app.example"],
                    ),
                ),
                permissions: &["camera=()"],
                hsts: ::core::option::Option::Some(63072000),
                referrer: ::core::option::Option::Some("no-referrer"),
                include_subdomains: true,
                every_response: true,
                ..__policy::policy_core::headers::HeadersSpec::NOTHING
            }),
            isolation: __policy::policy_core::route::Facet::Set(
                __policy::policy_core::isolation::Isolation::SameSite,
            ),
            ..__policy::policy_core::route::RoutePolicy::PUBLIC
        },
        scheme: ::core::option::Option::None,
        inherits_auth: false,
        takes_caller: false,
        extracts: false,
        takes_objects: false,
        takes_session: false,
        takes_user: false,
        handler: ::core::concat!(::core::module_path!(), "::orders"),
        file: ::core::file!(),
        line: ::core::line!(),
        attributes: &[
            ("auth", ::core::line!()),
            ("get", ::core::line!()),
            ("headers", ::core::line!()),
            ("isolation", ::core::line!()),
        ],
    };
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for orders
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        const DESCRIPTION: __policy::Description = __POLICY_DESCRIPTION;
        #[allow(
            clippy::type_complexity,
            reason = "the types are those of the signature"
        )]
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            (&&&&__policy::Of::<()>::NEW).respond(__policy_signature);
            __policy_signature.document(&[], &[::core::option::Option::None]);
        }
        fn call(__policy_call: &mut __policy::Call) -> __policy::BoxFuture {
            __policy::invoke::<
                __PolicyState,
                (),
                (),
                (),
                (),
                _,
                _,
            >(__policy_call, |(), ()| orders())
        }
    }
};
async fn shared() {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct shared {}
#[auth(__policy_consumed)]
const _: () = ();
#[cors(__policy_consumed)]
const _: () = ();
#[isolation(__policy_consumed)]
const _: () = ();
#[headers(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    const cors_policy_of_shared: __policy::policy_core::cors::CorsPolicy = PARTNERS;
    const __POLICY_HEADERS: __policy::policy_core::headers::HeadersPolicy = crate::PAGES;
    const headers_policy_of_shared: () = match (__policy::policy_core::headers::HeadersSpec {
        route: __policy::policy_core::route::RouteFacts {
            methods: &["GET"],
            authentication: __policy::policy_core::route::Authentication::Public,
            takes_session: false,
            is_shared: true,
        },
        ..*__POLICY_HEADERS.spec()
    })
        .first_error()
    {
        ::core::option::Option::None => {}
        ::core::option::Option::Some(__policy_violation) => {
            ::core::panic!("{}", __policy_violation.text().as_str())
        }
    };
    const __POLICY_DESCRIPTION: __policy::Description = __policy::Description {
        routes: &[("GET", "/shared")],
        policy: __policy::policy_core::route::RoutePolicy {
            cors: __policy::policy_core::route::Facet::Set(
                *cors_policy_of_shared.spec(),
            ),
            auth: __policy::policy_core::auth::AuthPolicy::Public,
            headers: __policy::policy_core::route::Facet::Set(*__POLICY_HEADERS.spec()),
            isolation: __policy::policy_core::route::Facet::None,
            ..__policy::policy_core::route::RoutePolicy::PUBLIC
        },
        scheme: ::core::option::Option::None,
        inherits_auth: false,
        takes_caller: false,
        extracts: false,
        takes_objects: false,
        takes_session: false,
        takes_user: false,
        handler: ::core::concat!(::core::module_path!(), "::shared"),
        file: ::core::file!(),
        line: ::core::line!(),
        attributes: &[
            ("auth", ::core::line!()),
            ("cors", ::core::line!()),
            ("get", ::core::line!()),
            ("headers", ::core::line!()),
            ("isolation", ::core::line!()),
        ],
    };
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for shared
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        const DESCRIPTION: __policy::Description = __POLICY_DESCRIPTION;
        #[allow(
            clippy::type_complexity,
            reason = "the types are those of the signature"
        )]
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            (&&&&__policy::Of::<()>::NEW).respond(__policy_signature);
            __policy_signature.document(&[], &[::core::option::Option::None]);
        }
        fn call(__policy_call: &mut __policy::Call) -> __policy::BoxFuture {
            __policy::invoke::<
                __PolicyState,
                (),
                (),
                (),
                (),
                _,
                _,
            >(__policy_call, |(), ()| shared())
        }
    }
};
async fn bare() {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct bare {}
#[auth(__policy_consumed)]
const _: () = ();
#[headers(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    const __POLICY_DESCRIPTION: __policy::Description = __policy::Description {
        routes: &[("GET", "/bare")],
        policy: __policy::policy_core::route::RoutePolicy {
            auth: __policy::policy_core::auth::AuthPolicy::Public,
            headers: __policy::policy_core::route::Facet::None,
            ..__policy::policy_core::route::RoutePolicy::PUBLIC
        },
        scheme: ::core::option::Option::None,
        inherits_auth: false,
        takes_caller: false,
        extracts: false,
        takes_objects: false,
        takes_session: false,
        takes_user: false,
        handler: ::core::concat!(::core::module_path!(), "::bare"),
        file: ::core::file!(),
        line: ::core::line!(),
        attributes: &[
            ("auth", ::core::line!()),
            ("get", ::core::line!()),
            ("headers", ::core::line!()),
        ],
    };
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for bare
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        const DESCRIPTION: __policy::Description = __POLICY_DESCRIPTION;
        #[allow(
            clippy::type_complexity,
            reason = "the types are those of the signature"
        )]
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            (&&&&__policy::Of::<()>::NEW).respond(__policy_signature);
            __policy_signature.document(&[], &[::core::option::Option::None]);
        }
        fn call(__policy_call: &mut __policy::Call) -> __policy::BoxFuture {
            __policy::invoke::<
                __PolicyState,
                (),
                (),
                (),
                (),
                _,
                _,
            >(__policy_call, |(), ()| bare())
        }
    }
};
