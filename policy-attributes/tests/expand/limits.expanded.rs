const UPLOADS: Limits = Limits::NONE.body(1 << 30);
async fn all() {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct all {}
#[auth(__policy_consumed)]
const _: () = ();
#[limit(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for all
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/orders")];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Required(__policy::policy_core::auth::Requirement {
                session: true,
                ..__policy::policy_core::auth::Requirement::NONE
            });
            __policy_description.policy.limits = __policy::policy_core::limits::Limits::NONE
                .body(1048576u64)
                .timeout(::core::time::Duration::from_millis(500u64))
                .rate(
                    __policy::policy_core::limits::Rate::new(
                            100u32,
                            ::core::time::Duration::from_secs(60u64),
                        )
                        .counted_by(__policy::policy_core::limits::RateKey::Principal),
                )
                .concurrency(64u32);
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::all"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("get", ::core::line!()),
                ("limit", ::core::line!()),
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
            >(__policy_call, |(), ()| all())
        }
    }
};
async fn one() {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct one {}
#[auth(__policy_consumed)]
const _: () = ();
#[limit(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for one
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/search")];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.policy.limits = __policy::policy_core::limits::Limits::NONE
                .rate(
                    __policy::policy_core::limits::Rate::new(
                            5u32,
                            ::core::time::Duration::from_secs(1u64),
                        )
                        .counted_by(__policy::policy_core::limits::RateKey::Address),
                );
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::one"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("get", ::core::line!()),
                ("limit", ::core::line!()),
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
            >(__policy_call, |(), ()| one())
        }
    }
};
async fn live() {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct live {}
#[auth(__policy_consumed)]
const _: () = ();
#[limit(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for live
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/live")];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Required(__policy::policy_core::auth::Requirement {
                session: true,
                ..__policy::policy_core::auth::Requirement::NONE
            });
            __policy_description.policy.limits = __policy::policy_core::limits::Limits::NONE
                .message(65536u64)
                .silence(::core::time::Duration::from_millis(300000u64))
                .sockets(1000u32)
                .sockets_per_caller(5u32);
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::live"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("get", ::core::line!()),
                ("limit", ::core::line!()),
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
            >(__policy_call, |(), ()| live())
        }
    }
};
async fn objects() {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct objects {}
#[auth(__policy_consumed)]
const _: () = ();
#[limit(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for objects
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/drafts")];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Required(__policy::policy_core::auth::Requirement {
                session: true,
                ..__policy::policy_core::auth::Requirement::NONE
            });
            __policy_description.policy.limits = __policy::policy_core::limits::Limits::NONE
                .misses(
                    __policy::policy_core::limits::Rate::new(
                        20u32,
                        ::core::time::Duration::from_secs(60u64),
                    ),
                );
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::objects"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("get", ::core::line!()),
                ("limit", ::core::line!()),
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
            >(__policy_call, |(), ()| objects())
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
#[limit(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    const __POLICY_LIMITS: __policy::policy_core::limits::Limits = UPLOADS;
    const limit_policy_of_shared: () = match (__policy::policy_core::limits::LimitSpec {
        limits: __POLICY_LIMITS,
        route: __policy::policy_core::route::RouteFacts {
            methods: &["POST"],
            authentication: __policy::policy_core::route::Authentication::Asked,
            takes_session: false,
            has_jsonp: false,
        },
    })
        .first_error()
    {
        ::core::option::Option::None => {}
        ::core::option::Option::Some(__policy_violation) => {
            ::core::panic!("{}", __policy_violation.text().as_str())
        }
    };
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for shared
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("POST", "/uploads")];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Required(__policy::policy_core::auth::Requirement {
                session: true,
                ..__policy::policy_core::auth::Requirement::NONE
            });
            __policy_description.policy.limits = __POLICY_LIMITS;
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::shared"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("limit", ::core::line!()),
                ("post", ::core::line!()),
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
