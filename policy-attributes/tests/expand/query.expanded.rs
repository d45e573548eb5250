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
    const __POLICY_DESCRIPTION: __policy::Description = __policy::Description {
        routes: &[("QUERY", "/orders")],
        policy: __policy::policy_core::route::RoutePolicy {
            auth: __policy::policy_core::auth::AuthPolicy::Public,
            ..__policy::policy_core::route::RoutePolicy::PUBLIC
        },
        scheme: ::core::option::Option::None,
        inherits_auth: false,
        takes_caller: false,
        extracts: true,
        takes_objects: false,
        takes_session: false,
        takes_user: false,
        handler: ::core::concat!(::core::module_path!(), "::find"),
        file: ::core::file!(),
        line: ::core::line!(),
        attributes: &[("auth", ::core::line!()), ("query", ::core::line!())],
    };
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for find
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
        Db: __policy::StatePart<__PolicyState>,
    {
        const DESCRIPTION: __policy::Description = __POLICY_DESCRIPTION;
        #[allow(
            clippy::type_complexity,
            reason = "the types are those of the signature"
        )]
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            (&&&&__policy::Of::<State<Db>>::NEW).take(__policy_signature);
            (&&&&__policy::Of::<Json<Filter>>::NEW).take(__policy_signature);
            (&&&&__policy::Of::<Json<Vec<Order>>>::NEW).respond(__policy_signature);
            __policy_signature.document(&[], &[::core::option::Option::None]);
        }
        fn call(__policy_call: &mut __policy::Call) -> __policy::BoxFuture {
            #[allow(
                clippy::type_complexity,
                reason = "the type is that of the signature"
            )]
            let _: ::core::option::Option<__policy::OfState<Db>> = ::core::option::Option::None;
            #[allow(
                clippy::type_complexity,
                reason = "the type is that of the signature"
            )]
            let _: ::core::option::Option<__policy::ReturnedJson<Json<Vec<Order>>>> = ::core::option::Option::None;
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
