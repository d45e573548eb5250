async fn prices() {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct prices {}
#[jsonp(__policy_consumed)]
const _: () = ();
#[auth(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    const __POLICY_DESCRIPTION: __policy::Description = __policy::Description {
        routes: &[("GET", "/prices")],
        policy: __policy::policy_core::route::RoutePolicy {
            auth: __policy::policy_core::auth::AuthPolicy::Public,
            jsonp: ::core::option::Option::Some(__policy::policy_core::jsonp::JsonpSpec {
                callback: "callback",
                ..__policy::policy_core::jsonp::JsonpSpec::NOTHING
            }),
            ..__policy::policy_core::route::RoutePolicy::PUBLIC
        },
        scheme: ::core::option::Option::None,
        inherits_auth: false,
        takes_caller: false,
        extracts: false,
        takes_objects: false,
        takes_session: false,
        takes_user: false,
        handler: ::core::concat!(::core::module_path!(), "::prices"),
        file: ::core::file!(),
        line: ::core::line!(),
        attributes: &[
            ("auth", ::core::line!()),
            ("get", ::core::line!()),
            ("jsonp", ::core::line!()),
        ],
    };
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for prices
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
            >(__policy_call, |(), ()| prices())
        }
    }
};
async fn widgets() {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct widgets {}
#[jsonp(__policy_consumed)]
const _: () = ();
#[auth(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    const __POLICY_DESCRIPTION: __policy::Description = __policy::Description {
        routes: &[("GET", "/widgets")],
        policy: __policy::policy_core::route::RoutePolicy {
            auth: __policy::policy_core::auth::AuthPolicy::Public,
            jsonp: ::core::option::Option::Some(__policy::policy_core::jsonp::JsonpSpec {
                callback: "cb",
                grammar: __policy::policy_core::jsonp::Grammar::Dotted,
                ..__policy::policy_core::jsonp::JsonpSpec::NOTHING
            }),
            ..__policy::policy_core::route::RoutePolicy::PUBLIC
        },
        scheme: ::core::option::Option::None,
        inherits_auth: false,
        takes_caller: false,
        extracts: false,
        takes_objects: false,
        takes_session: false,
        takes_user: false,
        handler: ::core::concat!(::core::module_path!(), "::widgets"),
        file: ::core::file!(),
        line: ::core::line!(),
        attributes: &[
            ("auth", ::core::line!()),
            ("get", ::core::line!()),
            ("jsonp", ::core::line!()),
        ],
    };
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for widgets
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
            >(__policy_call, |(), ()| widgets())
        }
    }
};
async fn partners() {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct partners {}
#[jsonp(__policy_consumed)]
const _: () = ();
#[auth(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    const jsonp_policy_of_partners: __policy::policy_core::jsonp::JsonpPolicy = PARTNERS;
    const __POLICY_DESCRIPTION: __policy::Description = __policy::Description {
        routes: &[("GET", "/partners")],
        policy: __policy::policy_core::route::RoutePolicy {
            auth: __policy::policy_core::auth::AuthPolicy::Public,
            jsonp: ::core::option::Option::Some(*jsonp_policy_of_partners.spec()),
            ..__policy::policy_core::route::RoutePolicy::PUBLIC
        },
        scheme: ::core::option::Option::None,
        inherits_auth: false,
        takes_caller: false,
        extracts: false,
        takes_objects: false,
        takes_session: false,
        takes_user: false,
        handler: ::core::concat!(::core::module_path!(), "::partners"),
        file: ::core::file!(),
        line: ::core::line!(),
        attributes: &[
            ("auth", ::core::line!()),
            ("get", ::core::line!()),
            ("jsonp", ::core::line!()),
        ],
    };
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for partners
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
            >(__policy_call, |(), ()| partners())
        }
    }
};
