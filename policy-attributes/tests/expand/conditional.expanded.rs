#[cfg(feature = "debug")]
#[allow(deprecated)]
async fn debug() {}
#[cfg(feature = "debug")]
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct debug {}
#[cfg(feature = "debug")]
#[cors(__policy_consumed)]
const _: () = ();
#[cfg(feature = "debug")]
#[auth(__policy_consumed)]
const _: () = ();
#[cfg(feature = "debug")]
#[allow(deprecated)]
const _: () = {
    #[deprecated(
        note = "`https://a.example`: this origin is listed twice (cors.origin-repeated)\nhelp: remove one of them\nsee: https://OWNER.github.io/policy/reference/codes/cors.html#cors.origin-repeated"
    )]
    const cors_origin_repeated: () = ();
    cors_origin_repeated
};
#[cfg(feature = "debug")]
const _: () = {
    use ::policy_server::codegen as __policy;
    const __POLICY_DESCRIPTION: __policy::Description = __policy::Description {
        routes: &[("GET", "/debug")],
        policy: __policy::policy_core::route::RoutePolicy {
            cors: __policy::policy_core::route::Facet::Set(
                __policy::policy_core::cors::CorsSpec::new(
                    __policy::policy_core::cors::Origins::Listed(
                        &["https://a.example", "https://a.example"],
                    ),
                ),
            ),
            auth: __policy::policy_core::auth::AuthPolicy::Public,
            ..__policy::policy_core::route::RoutePolicy::PUBLIC
        },
        scheme: ::core::option::Option::None,
        inherits_auth: false,
        takes_caller: false,
        extracts: false,
        takes_objects: false,
        takes_session: false,
        takes_user: false,
        handler: ::core::concat!(::core::module_path!(), "::debug"),
        file: ::core::file!(),
        line: ::core::line!(),
        attributes: &[
            ("auth", ::core::line!()),
            ("cors", ::core::line!()),
            ("get", ::core::line!()),
        ],
    };
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for debug
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
            >(__policy_call, |(), ()| debug())
        }
    }
};
