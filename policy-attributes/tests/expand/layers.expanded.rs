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
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for order
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[
                ("GET", "/orders/{id}"),
                ("POST", "/orders/{id}"),
                ("PUT", "/orders/{id}"),
                ("PATCH", "/orders/{id}"),
                ("DELETE", "/orders/{id}"),
                ("QUERY", "/orders/{id}"),
            ];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::order"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("any", ::core::line!()),
                ("auth", ::core::line!()),
                ("layer", ::core::line!()),
            ];
        }
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
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            __policy::Of::<u64>::NEW.describe_parameter(__policy_signature, "id");
            __policy::Of::<String>::NEW.describe_answer(__policy_signature);
        }
        #[allow(clippy::type_complexity)]
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
