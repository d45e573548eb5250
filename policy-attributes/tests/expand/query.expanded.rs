async fn find(State(db): State<Db>, Json(filter): Json<Filter>) -> Json<Vec<Order>> {
    db.find(filter).await
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
struct find {}
#[auth(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for find
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
        Db: __policy::StatePart<__PolicyState>,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("QUERY", "/orders")];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.extracts = true;
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::find"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("query", ::core::line!()),
            ];
        }
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            __policy::Of::<State<Db>>::NEW.describe_argument(__policy_signature);
            __policy::Of::<Json<Filter>>::NEW.describe_argument(__policy_signature);
            __policy::Of::<Json<Vec<Order>>>::NEW.describe_answer(__policy_signature);
        }
        #[allow(clippy::type_complexity)]
        fn call(__policy_call: &mut __policy::Call) -> __policy::BoxFuture {
            let _: __policy::OfState<Db>;
            let _: __policy::ReturnedJson<Json<Vec<Order>>>;
            __policy::invoke::<
                __PolicyState,
                __policy::FromBody,
                (),
                (State<Db>, <Json<Filter> as __policy::OfBody<__PolicyState>>::Argument),
                Json<Vec<Order>>,
                _,
                _,
            >(
                __policy_call,
                |(), (__policy_argument0, __policy_argument1)| find(
                    __policy_argument0,
                    __policy_argument1,
                ),
            )
        }
    }
};
