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
    #[automatically_derived]
    impl<__PolicyState, __PolicyVia> __policy::Endpoint<__PolicyState, __PolicyVia>
    for home
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
        Method: __policy::Extract<__PolicyState, __PolicyVia>,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/")];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.extracts = true;
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::home"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("get", ::core::line!()),
            ];
        }
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            __policy::Of::<Method>::NEW.describe_argument(__policy_signature);
            __policy::Of::<()>::NEW.describe_answer(__policy_signature);
        }
        #[allow(clippy::type_complexity)]
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
