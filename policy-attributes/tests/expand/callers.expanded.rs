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
    const __POLICY_DESCRIPTION: __policy::Description = __policy::Description {
        routes: &[("POST", "/transfer")],
        policy: __policy::policy_core::route::RoutePolicy {
            auth: __policy::policy_core::auth::AuthPolicy::Required(__policy::policy_core::auth::Requirement {
                token: true,
                session: true,
                roles: &["clerk", "admin"],
                fresh: ::core::option::Option::Some(600u32),
                ..__policy::policy_core::auth::Requirement::NONE
            }),
            ..__policy::policy_core::route::RoutePolicy::PUBLIC
        },
        scheme: ::core::option::Option::None,
        inherits_auth: false,
        takes_caller: true,
        extracts: true,
        takes_objects: false,
        takes_session: true,
        takes_user: true,
        handler: ::core::concat!(::core::module_path!(), "::transfer"),
        file: ::core::file!(),
        line: ::core::line!(),
        attributes: &[("auth", ::core::line!()), ("post", ::core::line!())],
    };
    #[automatically_derived]
    impl<__PolicyState, __PolicyVia> __policy::Endpoint<__PolicyState, __PolicyVia>
    for transfer
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
        Principal: __policy::ExtractParts<__PolicyState>,
        Session: __policy::Extract<__PolicyState, __PolicyVia>,
    {
        const DESCRIPTION: __policy::Description = __POLICY_DESCRIPTION;
        #[allow(
            clippy::type_complexity,
            reason = "the types are those of the signature"
        )]
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            (&&&&__policy::Of::<Principal>::NEW).take(__policy_signature);
            (&&&&__policy::Of::<Session>::NEW).take(__policy_signature);
            (&&&&__policy::Of::<()>::NEW).respond(__policy_signature);
            __policy_signature.document(&[], &[::core::option::Option::None]);
        }
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
    const __POLICY_DESCRIPTION: __policy::Description = __policy::Description {
        routes: &[("POST", "/callback")],
        policy: __policy::policy_core::route::RoutePolicy {
            auth: __policy::policy_core::auth::AuthPolicy::Public,
            csrf: ::core::option::Option::Some(
                __policy::policy_core::csrf::CsrfPolicy::Exempt("state checked"),
            ),
            ..__policy::policy_core::route::RoutePolicy::PUBLIC
        },
        scheme: ::core::option::Option::None,
        inherits_auth: false,
        takes_caller: false,
        extracts: true,
        takes_objects: false,
        takes_session: true,
        takes_user: false,
        handler: ::core::concat!(::core::module_path!(), "::callback"),
        file: ::core::file!(),
        line: ::core::line!(),
        attributes: &[
            ("auth", ::core::line!()),
            ("csrf", ::core::line!()),
            ("post", ::core::line!()),
        ],
    };
    #[automatically_derived]
    impl<__PolicyState, __PolicyVia> __policy::Endpoint<__PolicyState, __PolicyVia>
    for callback
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
        Sessions: __policy::Extract<__PolicyState, __PolicyVia>,
    {
        const DESCRIPTION: __policy::Description = __POLICY_DESCRIPTION;
        #[allow(
            clippy::type_complexity,
            reason = "the types are those of the signature"
        )]
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            (&&&&__policy::Of::<Sessions>::NEW).take(__policy_signature);
            (&&&&__policy::Of::<()>::NEW).respond(__policy_signature);
            __policy_signature.document(&[], &[::core::option::Option::None]);
        }
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
