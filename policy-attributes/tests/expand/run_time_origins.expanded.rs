async fn create() -> StatusCode {
    StatusCode::CREATED
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
struct create {}
#[cors(__policy_consumed)]
const _: () = ();
#[auth(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    const __POLICY_CORS: __policy::policy_core::cors::CorsSpec<'static> = __policy::policy_core::cors::CorsSpec {
        methods: ::core::option::Option::Some({
            const __POLICY_VALUE: &[&::core::primitive::str] = &METHODS;
            __POLICY_VALUE
        }),
        headers: {
            const __POLICY_VALUE: &[&::core::primitive::str] = &["x-a", X_B];
            __POLICY_VALUE
        },
        max_age: ::core::option::Option::Some({
            const __POLICY_VALUE: ::core::primitive::i64 = AGE;
            __POLICY_VALUE
        }),
        ..__policy::policy_core::cors::CorsSpec::new(__policy::policy_core::cors::Origins::AtRunTime {
            name: "partners",
            within: ::core::option::Option::Some({
                const __POLICY_VALUE: &[&::core::primitive::str] = &BOUND;
                __POLICY_VALUE
            }),
            by: ::core::option::Option::None,
        })
    };
    const cors_policy_of_create: () = match __POLICY_CORS.first_error() {
        ::core::option::Option::None => {}
        ::core::option::Option::Some(__policy_violation) => {
            match (__policy_violation.part, __policy_violation.index) {
                (__policy::policy_core::cors::CorsPart::Within, _) => {
                    ::core::panic!("{}", __policy_violation.text().as_str())
                }
                (__policy::policy_core::cors::CorsPart::Methods, _) => {
                    ::core::panic!("{}", __policy_violation.text().as_str())
                }
                (__policy::policy_core::cors::CorsPart::Headers, 0usize) => {
                    ::core::panic!("{}", __policy_violation.text().as_str())
                }
                (__policy::policy_core::cors::CorsPart::Headers, 1usize) => {
                    ::core::panic!("{}", __policy_violation.text().as_str())
                }
                (__policy::policy_core::cors::CorsPart::Headers, _) => {
                    ::core::panic!("{}", __policy_violation.text().as_str())
                }
                (__policy::policy_core::cors::CorsPart::MaxAge, _) => {
                    ::core::panic!("{}", __policy_violation.text().as_str())
                }
                _ => ::core::panic!("{}", __policy_violation.text().as_str()),
            }
        }
    };
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for create
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("POST", "/orders")];
            __policy_description.policy.cors = __policy::Facet::Set(__POLICY_CORS);
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::create"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("cors", ::core::line!()),
                ("post", ::core::line!()),
            ];
        }
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            __policy::Of::<StatusCode>::NEW.describe_answer(__policy_signature);
        }
        #[allow(clippy::type_complexity)]
        fn call(__policy_call: &mut __policy::Call) -> __policy::BoxFuture {
            __policy::invoke::<
                __PolicyState,
                (),
                (),
                (),
                StatusCode,
                _,
                _,
            >(__policy_call, |(), ()| create())
        }
    }
};
