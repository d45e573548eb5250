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
#[cors(__policy_consumed)]
const _: () = ();
#[auth(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    const cors_policy_of_shared: __policy::policy_core::cors::CorsPolicy = PARTNERS;
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
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::shared"
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
            >(__policy_call, |(), ()| shared())
        }
    }
};
async fn nobody() {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct nobody {}
#[cors(__policy_consumed)]
const _: () = ();
#[auth(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for nobody
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/nobody")];
            __policy_description.policy.cors = __policy::Facet::None;
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::nobody"
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
            >(__policy_call, |(), ()| nobody())
        }
    }
};
