async fn home() {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct home {}
#[auth(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    const __POLICY_DESCRIPTION: __policy::Description = __policy::Description {
        routes: &[("GET", "/")],
        policy: __policy::policy_core::route::RoutePolicy {
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
        handler: ::core::concat!(::core::module_path!(), "::home"),
        file: ::core::file!(),
        line: ::core::line!(),
        attributes: &[("auth", ::core::line!()), ("get", ::core::line!())],
    };
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for home
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
            >(__policy_call, |(), ()| home())
        }
    }
};
