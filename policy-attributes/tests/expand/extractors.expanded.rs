/// Documented.
#[tracing::instrument]
pub async fn order(
    State(db): State<Db>,
    item: u32,
    id: u64,
    Json(patch): Json<Patch>,
) -> Result<Json<Order>, Problem> {
    db.order(id, item, patch).await
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
pub struct order {}
#[cors(__policy_consumed)]
const _: () = ();
#[auth(__policy_consumed)]
const _: () = ();
const _: () = {
    #[deprecated(
        note = "this reads the body of a GET request: browsers refuse to send one, and proxies may drop it (handler.body-of-get)\nhelp: take `Query<T>`, or write `#[post(..)]`, or `#[query(..)]` for a query in the body\nsee: https://OWNER.github.io/policy/reference/codes/handler.html#handler.body-of-get"
    )]
    const handler_body_of_get: () = ();
    handler_body_of_get
};
const _: () = {
    use ::policy_server::codegen as __policy;
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for order
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
        Db: __policy::StatePart<__PolicyState>,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[("GET", "/orders/{id}/items/{item}")];
            __policy_description.policy.cors = __policy::Facet::Set(__policy::policy_core::cors::CorsSpec {
                credentials: true,
                expose: &["etag"],
                max_age: ::core::option::Option::Some(600),
                ..__policy::policy_core::cors::CorsSpec::new(
                    __policy::policy_core::cors::Origins::Listed(
                        &["https://app.shop.example"],
                    ),
                )
            });
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Public;
            __policy_description.extracts = true;
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::order"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("cors", ::core::line!()),
                ("get", ::core::line!()),
            ];
        }
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            __policy::Of::<u64>::NEW.describe_parameter(__policy_signature, "id");
            __policy::Of::<u32>::NEW.describe_parameter(__policy_signature, "item");
            __policy::Of::<State<Db>>::NEW.describe_argument(__policy_signature);
            __policy::Of::<Json<Patch>>::NEW.describe_argument(__policy_signature);
            __policy::Of::<Result<Json<Order>, Problem>>::NEW
                .describe_answer(__policy_signature);
            __policy_signature
                .document(&[" Documented."], &[::core::option::Option::None]);
        }
        #[allow(clippy::type_complexity)]
        fn call(__policy_call: &mut __policy::Call) -> __policy::BoxFuture {
            let _: __policy::OfState<Db>;
            let _: __policy::ReturnedJson<Json<Order>>;
            __policy::invoke::<
                __PolicyState,
                __policy::FromBody,
                (u64, u32),
                (State<Db>, <Json<Patch> as __policy::OfBody<__PolicyState>>::Argument),
                Result<Json<Order>, Problem>,
                _,
                _,
            >(
                __policy_call,
                |
                    (__policy_parameter0, __policy_parameter1),
                    (__policy_argument0, __policy_argument1)|
                order(
                    __policy_argument0,
                    __policy_parameter1,
                    __policy_parameter0,
                    __policy_argument1,
                ),
            )
        }
    }
};
