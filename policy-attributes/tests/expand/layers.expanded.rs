async fn order(id: u64) -> String {
    id.to_string()
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct order {}
#[auth(__policy_consumed)]
const _: () = ();
#[layer(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    const __POLICY_LAYER_NAMES: &[&::core::primitive::str] = &[
        "CompressionLayer::new",
        "LIMIT",
    ];
    const __POLICY_DESCRIPTION: __policy::Description = __policy::Description {
        routes: &[
            ("GET", "/orders/{id}"),
            ("POST", "/orders/{id}"),
            ("PUT", "/orders/{id}"),
            ("PATCH", "/orders/{id}"),
            ("DELETE", "/orders/{id}"),
            ("QUERY", "/orders/{id}"),
        ],
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
        handler: ::core::concat!(::core::module_path!(), "::order"),
        file: ::core::file!(),
        line: ::core::line!(),
        attributes: &[
            ("any", ::core::line!()),
            ("auth", ::core::line!()),
            ("layer", ::core::line!()),
        ],
    };
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for order
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        const DESCRIPTION: __policy::Description = __POLICY_DESCRIPTION;
        const LAYER_NAMES: &'static [&'static ::core::primitive::str] = __POLICY_LAYER_NAMES;
        const LAYER: ::core::option::Option<
            fn(__policy::SharedService) -> __policy::SharedService,
        > = ::core::option::Option::Some(|__policy_inner| {
            let __policy_inner = __policy::RouteLayer::wrap(
                LIMIT.layer(),
                __policy_inner,
            );
            let __policy_inner = __policy::RouteLayer::wrap(
                CompressionLayer::new(),
                __policy_inner,
            );
            __policy_inner
        });
        #[allow(
            clippy::type_complexity,
            reason = "the types are those of the signature"
        )]
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            (&&&&__policy::Of::<u64>::NEW).parse(__policy_signature);
            (&&&&__policy::Of::<u64>::NEW).schema(__policy_signature, "id");
            (&&&&__policy::Of::<String>::NEW).respond(__policy_signature);
            __policy_signature
                .document(
                    &[],
                    &[
                        ::core::option::Option::None,
                        ::core::option::Option::None,
                        ::core::option::Option::None,
                        ::core::option::Option::None,
                        ::core::option::Option::None,
                        ::core::option::Option::None,
                    ],
                );
        }
        fn call(__policy_call: &mut __policy::Call) -> __policy::BoxFuture {
            __policy::invoke::<
                __PolicyState,
                (),
                (u64,),
                (),
                String,
                _,
                _,
            >(__policy_call, |(__policy_parameter0,), ()| order(__policy_parameter0))
        }
    }
};
