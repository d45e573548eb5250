async fn r#move(r#id: u32) {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct r#move {}
#[route(__policy_consumed)]
const _: () = ();
#[auth(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for r#move
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[
                ("GET", "/a/{id}"),
                ("PURGE", "/b/{id}"),
                ("VERSION-CONTROL", "/b/{id}"),
            ];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::move"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("get", ::core::line!()),
                ("route", ::core::line!()),
            ];
        }
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            __policy::Of::<u32>::NEW.describe_parameter(__policy_signature, "id");
            __policy::Of::<()>::NEW.describe_answer(__policy_signature);
        }
        #[allow(clippy::type_complexity)]
        fn call(__policy_call: &mut __policy::Call) -> __policy::BoxFuture {
            __policy::invoke::<
                __PolicyState,
                (),
                (u32,),
                (),
                (),
                _,
                _,
            >(__policy_call, |(__policy_parameter0,), ()| r#move(__policy_parameter0))
        }
    }
};
