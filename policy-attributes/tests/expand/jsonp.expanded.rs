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
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for prices
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/prices")];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.policy.jsonp = ::core::option::Option::Some(__policy::policy_core::jsonp::JsonpSpec {
                callback: "callback",
                ..__policy::policy_core::jsonp::JsonpSpec::NOTHING
            });
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::prices"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("get", ::core::line!()),
                ("jsonp", ::core::line!()),
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
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for widgets
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/widgets")];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.policy.jsonp = ::core::option::Option::Some(__policy::policy_core::jsonp::JsonpSpec {
                callback: "cb",
                grammar: __policy::policy_core::jsonp::Grammar::Dotted,
                ..__policy::policy_core::jsonp::JsonpSpec::NOTHING
            });
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::widgets"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("get", ::core::line!()),
                ("jsonp", ::core::line!()),
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
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for partners
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/partners")];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.policy.jsonp = ::core::option::Option::Some(
                *jsonp_policy_of_partners.spec(),
            );
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::partners"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("get", ::core::line!()),
                ("jsonp", ::core::line!()),
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
            >(__policy_call, |(), ()| partners())
        }
    }
};
