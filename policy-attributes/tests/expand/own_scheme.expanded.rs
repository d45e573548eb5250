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
            name: "ApiKeys",
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
        ..__policy::policy_core::auth::AuthSpec::from_policies(
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
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for hooks
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/hooks")];
            __policy_description.policy.cors = __policy::Facet::Set(
                *cors_policy_of_hooks.spec(),
            );
            __policy_description.scheme = ::core::option::Option::Some(
                ::core::any::TypeId::of::<keys::ApiKeys>,
            );
            __policy_description.policy.auth = __POLICY_AUTH;
            __policy_description.policy.csrf = ::core::option::Option::Some(
                __policy::policy_core::csrf::CsrfPolicy::Origin,
            );
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::hooks"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("cors", ::core::line!()),
                ("csrf", ::core::line!()),
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
            >(__policy_call, |(), ()| hooks())
        }
    }
};
