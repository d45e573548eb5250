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
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for orders
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/orders")];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.policy.headers = __policy::Facet::Set(__policy::policy_core::headers::HeadersSpec {
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
            });
            __policy_description.policy.isolation = __policy::Facet::Set(
                __policy::policy_core::isolation::Isolation::SameSite,
            );
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::orders"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("get", ::core::line!()),
                ("headers", ::core::line!()),
                ("isolation", ::core::line!()),
            ];
        }
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            __policy::Of::<()>::NEW.describe_answer(__policy_signature);
        }
        #[allow(clippy::type_complexity)]
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
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for shared
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/shared")];
            __policy_description.policy.cors = __policy::Facet::Set(
                *cors_policy_of_shared.spec(),
            );
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.policy.headers = __policy::Facet::Set(
                *__POLICY_HEADERS.spec(),
            );
            __policy_description.policy.isolation = __policy::Facet::None;
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::shared"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("cors", ::core::line!()),
                ("get", ::core::line!()),
                ("headers", ::core::line!()),
                ("isolation", ::core::line!()),
            ];
        }
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            __policy::Of::<()>::NEW.describe_answer(__policy_signature);
        }
        #[allow(clippy::type_complexity)]
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
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for bare
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/bare")];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.policy.headers = __policy::Facet::None;
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::bare"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("get", ::core::line!()),
                ("headers", ::core::line!()),
            ];
        }
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            __policy::Of::<()>::NEW.describe_answer(__policy_signature);
        }
        #[allow(clippy::type_complexity)]
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
