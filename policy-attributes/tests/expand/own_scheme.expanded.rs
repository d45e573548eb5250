async fn hooks() {}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    missing_copy_implementations,
    missing_debug_implementations,
    unreachable_pub,
    clippy::empty_structs_with_brackets,
    clippy::exhaustive_structs
)]
struct hooks {}
#[auth(__policy_consumed)]
const _: () = ();
#[cors(__policy_consumed)]
const _: () = ();
#[csrf(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    const cors_policy_of_hooks: __policy::policy_core::cors::CorsPolicy = PARTNERS;
    const __POLICY_SCOPES: &[&::core::primitive::str] = {
        const __POLICY_VALUE: &[&::core::primitive::str] = &SCOPES;
        __POLICY_VALUE
    };
    const __POLICY_AUTH: __policy::policy_core::auth::AuthPolicy = __policy::policy_core::auth::AuthPolicy::Required(__policy::policy_core::auth::Requirement {
        scheme: ::core::option::Option::Some(__policy::policy_core::auth::OwnScheme {
            name: "keys::ApiKeys",
            ambient: <keys::ApiKeys as __policy::Scheme>::AMBIENT,
        }),
        optional: true,
        scopes: __POLICY_SCOPES,
        ..__policy::policy_core::auth::Requirement::NONE
    });
    const auth_policy_of_hooks: () = match (__policy::policy_core::auth::AuthSpec {
        takes_user: false,
        takes_session: false,
        without_credentials: !cors_policy_of_hooks.spec().credentials,
        scopes: ::core::option::Option::Some(__POLICY_SCOPES),
        ..__policy::policy_core::auth::AuthSpec::of(
            &__POLICY_AUTH,
            ::core::option::Option::Some(
                &__policy::policy_core::csrf::CsrfPolicy::Origin,
            ),
        )
    })
        .first_error()
    {
        ::core::option::Option::None => {}
        ::core::option::Option::Some(__policy_violation) => {
            match (__policy_violation.part, __policy_violation.index) {
                (__policy::policy_core::auth::AuthPart::Scopes, _) => {
                    ::core::panic!("{}", __policy_violation.text().as_str())
                }
                (__policy::policy_core::auth::AuthPart::Csrf, _) => {
                    ::core::panic!("{}", __policy_violation.text().as_str())
                }
                _ => ::core::panic!("{}", __policy_violation.text().as_str()),
            }
        }
    };
    const __POLICY_DESCRIPTION: __policy::Description = __policy::Description {
        routes: &[("GET", "/hooks")],
        policy: __policy::policy_core::route::RoutePolicy {
            cors: __policy::policy_core::route::Facet::Set(*cors_policy_of_hooks.spec()),
            auth: __POLICY_AUTH,
            csrf: ::core::option::Option::Some(
                __policy::policy_core::csrf::CsrfPolicy::Origin,
            ),
            ..__policy::policy_core::route::RoutePolicy::PUBLIC
        },
        scheme: ::core::option::Option::Some(::core::any::TypeId::of::<keys::ApiKeys>),
        inherits_auth: false,
        takes_caller: false,
        extracts: false,
        takes_objects: false,
        takes_session: false,
        takes_user: false,
        handler: ::core::concat!(::core::module_path!(), "::hooks"),
        file: ::core::file!(),
        line: ::core::line!(),
        attributes: &[
            ("auth", ::core::line!()),
            ("cors", ::core::line!()),
            ("csrf", ::core::line!()),
            ("get", ::core::line!()),
        ],
    };
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for hooks
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        const DESCRIPTION: __policy::Description = __POLICY_DESCRIPTION;
        #[allow(
            clippy::type_complexity,
            reason = "the types are those of the signature"
        )]
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            (&&&&__policy::Of::<()>::NEW).respond(__policy_signature);
            __policy_signature.document(&[], &[::core::option::Option::None]);
        }
        fn call(__policy_call: &mut __policy::Call) -> __policy::BoxFuture {
            __policy::invoke::<
                __PolicyState,
                (),
                (),
                (),
                (),
                _,
                _,
            >(__policy_call, |(), ()| hooks())
        }
    }
};
