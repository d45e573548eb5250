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
const _: () = {
    use ::policy_server::codegen as __policy;
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for home
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/")];
            __policy_description.policy.cors = __policy::Facet::Set(
                __policy::policy_core::cors::CorsSpec::new(
                    __policy::policy_core::cors::Origins::Listed(&["*"]),
                ),
            );
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::home"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("cors", ::core::line!()),
                ("get", ::core::line!()),
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
            >(__policy_call, |(), ()| home())
        }
    }
};
