async fn transfer(me: Principal, session: Session) {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct transfer {}
#[auth(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    #[automatically_derived]
    impl<__PolicyState, __PolicyVia> __policy::Endpoint<__PolicyState, __PolicyVia>
    for transfer
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
        Principal: __policy::ExtractParts<__PolicyState>,
        Session: __policy::Extract<__PolicyState, __PolicyVia>,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("POST", "/transfer")];
            __policy_description.takes_caller = true;
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Required(__policy::policy_core::auth::Requirement {
                token: true,
                session: true,
                roles: &["clerk", "admin"],
                fresh: ::core::option::Option::Some(600u32),
                ..__policy::policy_core::auth::Requirement::NONE
            });
            __policy_description.extracts = true;
            __policy_description.takes_session = true;
            __policy_description.takes_user = true;
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::transfer"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("post", ::core::line!()),
            ];
        }
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            __policy::Of::<Principal>::NEW.describe_argument(__policy_signature);
            __policy::Of::<Session>::NEW.describe_argument(__policy_signature);
            __policy::Of::<()>::NEW.describe_answer(__policy_signature);
        }
        #[allow(clippy::type_complexity)]
        fn call(__policy_call: &mut __policy::Call) -> __policy::BoxFuture {
            __policy::invoke::<
                __PolicyState,
                __policy::Inferred<__PolicyVia>,
                (),
                (Principal, Session),
                (),
                _,
                _,
            >(
                __policy_call,
                |(), (__policy_argument0, __policy_argument1)| transfer(
                    __policy_argument0,
                    __policy_argument1,
                ),
            )
        }
    }
};
async fn callback(sessions: Sessions) {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct callback {}
#[auth(__policy_consumed)]
const _: () = ();
#[csrf(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    #[automatically_derived]
    impl<__PolicyState, __PolicyVia> __policy::Endpoint<__PolicyState, __PolicyVia>
    for callback
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
        Sessions: __policy::Extract<__PolicyState, __PolicyVia>,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("POST", "/callback")];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.policy.csrf = ::core::option::Option::Some(
                __policy::policy_core::csrf::CsrfPolicy::Exempt("state checked"),
            );
            __policy_description.extracts = true;
            __policy_description.takes_session = true;
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::callback"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("csrf", ::core::line!()),
                ("post", ::core::line!()),
            ];
        }
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            __policy::Of::<Sessions>::NEW.describe_argument(__policy_signature);
            __policy::Of::<()>::NEW.describe_answer(__policy_signature);
        }
        #[allow(clippy::type_complexity)]
        fn call(__policy_call: &mut __policy::Call) -> __policy::BoxFuture {
            __policy::invoke::<
                __PolicyState,
                __policy::Inferred<__PolicyVia>,
                (),
                (Sessions,),
                (),
                _,
                _,
            >(__policy_call, |(), (__policy_argument0,)| callback(__policy_argument0))
        }
    }
};
