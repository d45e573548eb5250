async fn home(method: Method) {}
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
    use my::server::codegen as __policy;
    const __POLICY_DESCRIPTION: __policy::Description = __policy::Description {
        routes: &[("GET", "/")],
        policy: __policy::policy_core::route::RoutePolicy {
            auth: __policy::policy_core::auth::AuthPolicy::Public,
            ..__policy::policy_core::route::RoutePolicy::PUBLIC
        },
        scheme: ::core::option::Option::None,
        inherits_auth: false,
        takes_caller: false,
        extracts: true,
        takes_objects: false,
        takes_session: false,
        takes_user: false,
        handler: ::core::concat!(::core::module_path!(), "::home"),
        file: ::core::file!(),
        line: ::core::line!(),
        attributes: &[("auth", ::core::line!()), ("get", ::core::line!())],
    };
    #[automatically_derived]
    impl<__PolicyState, __PolicyVia> __policy::Endpoint<__PolicyState, __PolicyVia>
    for home
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
        Method: __policy::Extract<__PolicyState, __PolicyVia>,
    {
        const DESCRIPTION: __policy::Description = __POLICY_DESCRIPTION;
        #[allow(
            clippy::type_complexity,
            reason = "the types are those of the signature"
        )]
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            (&&&&__policy::Of::<Method>::NEW).take(__policy_signature);
            (&&&&__policy::Of::<()>::NEW).respond(__policy_signature);
            __policy_signature.document(&[], &[::core::option::Option::None]);
        }
        fn call(__policy_call: &mut __policy::Call) -> __policy::BoxFuture {
            __policy::invoke::<
                __PolicyState,
                __policy::Inferred<__PolicyVia>,
                (),
                (Method,),
                (),
                _,
                _,
            >(__policy_call, |(), (__policy_argument0,)| home(__policy_argument0))
        }
    }
};
