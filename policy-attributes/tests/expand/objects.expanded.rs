#[derive(Object)]
#[object(name = "orders", parent = Team, crate = my::server)]
#[rule(View = owner|member(readers)&draft)]
#[rule(my::Close = with(Order::is_closed_by)&role("lead"))]
#[rule(Edit = engine|owner)]
struct Order {
    #[object(key, column = "order_id")]
    id: u64,
    #[object(owner)]
    user: Option<i64>,
    #[object(members, table = "readers", object = "order_id", user = "person")]
    readers: Vec<String>,
    #[object(flag)]
    draft: bool,
    #[object(version)]
    version: u64,
    note: String,
}
const _: () = {
    use my::server::codegen as __policy;
    const _: () = ::core::assert!(
        __policy::names_differ(& [< View as __policy::Action > ::NAME, < my::Close as
        __policy::Action > ::NAME, < Edit as __policy::Action > ::NAME]),
        "two actions of one object have the same name, or one is no name of small letters",
    );
    #[automatically_derived]
    impl __policy::Object for Order {
        type Key = u64;
        type Parent = Team;
        const NAME: &'static str = "orders";
        const KEY: &'static str = "order_id";
        const FIELDS: &'static [__policy::policy_core::object::Field] = &[
            __policy::policy_core::object::Field {
                name: "user",
                kind: __policy::policy_core::object::FieldKind::Owner,
                column: "user",
                is_number: true,
                is_optional: true,
                relation: ::core::option::Option::None,
            },
            __policy::policy_core::object::Field {
                name: "readers",
                kind: __policy::policy_core::object::FieldKind::Members,
                column: "readers",
                is_number: false,
                is_optional: false,
                relation: ::core::option::Option::Some(__policy::policy_core::object::Relation {
                    table: "readers",
                    object: "order_id",
                    user: "person",
                }),
            },
            __policy::policy_core::object::Field {
                name: "draft",
                kind: __policy::policy_core::object::FieldKind::Flag,
                column: "draft",
                is_number: false,
                is_optional: false,
                relation: ::core::option::Option::None,
            },
        ];
        const RULES: &'static [(&'static str, &'static str)] = &[
            (<View as __policy::Action>::NAME, "owner(user) | draft & member(readers)"),
            (
                <my::Close as __policy::Action>::NAME,
                "role(\"lead\") & with(Order::is_closed_by)",
            ),
            (<Edit as __policy::Action>::NAME, "engine | owner(user)"),
        ];
        const PLACES: &'static [(&'static str, u32)] = &[
            (::core::file!(), ::core::line!()),
            (::core::file!(), ::core::line!()),
            (::core::file!(), ::core::line!()),
        ];
        fn names(&self, __policy_field: &str, __policy_name: &str) -> bool {
            match __policy_field {
                "user" => {
                    self.user
                        .as_ref()
                        .is_some_and(|__policy_one| __policy::is_text_of(
                            __policy_one,
                            __policy_name,
                        ))
                }
                "readers" => {
                    self.readers
                        .iter()
                        .any(|__policy_one| *__policy_one == *__policy_name)
                }
                _ => false,
            }
        }
        fn flag(&self, __policy_field: &str) -> bool {
            match __policy_field {
                "draft" => self.draft,
                _ => false,
            }
        }
        fn decide(
            &self,
            __policy_function: &str,
            __policy_caller: &__policy::Principal,
        ) -> bool {
            match __policy_function {
                "Order::is_closed_by" => Order::is_closed_by(self, __policy_caller),
                _ => false,
            }
        }
        const IS_VERSIONED: bool = true;
        #[allow(clippy::useless_conversion, reason = "the field may be of any integer")]
        fn version(&self) -> ::core::option::Option<u64> {
            u64::try_from(self.version).ok()
        }
        fn facts(&self) -> __policy::ObjectFacts {
            __policy::ObjectFacts {
                key: ::std::string::ToString::to_string(&self.id),
                fields: ::std::vec![
                    ("user", __policy::FieldValue::User(self.user.as_ref()
                    .map(::std::string::ToString::to_string))), ("readers",
                    __policy::FieldValue::Users(self.readers.iter()
                    .map(::std::string::ToString::to_string).collect())), ("draft",
                    __policy::FieldValue::Flag(self.draft))
                ],
            }
        }
        fn sample(
            __policy_sample: __policy::Sample<'_>,
        ) -> ::core::option::Option<Self> {
            let _ = &__policy_sample;
            ::core::option::Option::Some(Self {
                user: ::core::option::Option::Some(
                    (__policy_sample.name)("user").parse().ok()?,
                ),
                readers: ::core::iter::once(
                        (__policy_sample.name)("readers").parse().ok()?,
                    )
                    .collect(),
                draft: (__policy_sample.flag)("draft"),
                id: ::core::default::Default::default(),
                version: ::core::default::Default::default(),
                note: ::core::default::Default::default(),
            })
        }
    }
    #[automatically_derived]
    impl __policy::Permits<View> for Order {
        fn condition() -> &'static __policy::policy_core::object::Condition {
            static CONDITION: ::std::sync::LazyLock<
                __policy::policy_core::object::Condition,
            > = ::std::sync::LazyLock::new(|| __policy::condition(
                "owner(user) | draft & member(readers)",
            ));
            &CONDITION
        }
    }
    #[automatically_derived]
    impl __policy::PermitsByData<View> for Order {}
    #[automatically_derived]
    impl __policy::Permits<my::Close> for Order {
        fn condition() -> &'static __policy::policy_core::object::Condition {
            static CONDITION: ::std::sync::LazyLock<
                __policy::policy_core::object::Condition,
            > = ::std::sync::LazyLock::new(|| __policy::condition(
                "role(\"lead\") & with(Order::is_closed_by)",
            ));
            &CONDITION
        }
    }
    #[automatically_derived]
    impl __policy::Permits<Edit> for Order {
        fn condition() -> &'static __policy::policy_core::object::Condition {
            static CONDITION: ::std::sync::LazyLock<
                __policy::policy_core::object::Condition,
            > = ::std::sync::LazyLock::new(|| __policy::condition(
                "engine | owner(user)",
            ));
            &CONDITION
        }
    }
};
async fn change(
    year: u16,
    team: Allowed<Team>,
    order: Locked<Order, Edit>,
    Json(note): Json<String>,
) -> StatusCode {
    StatusCode::OK
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
struct change {}
#[auth(__policy_consumed)]
const _: () = ();
#[object(__policy_consumed)]
const _: () = ();
const _: () = {
    use ::policy_server::codegen as __policy;
    #[automatically_derived]
    impl<__PolicyState> __policy::Endpoint<__PolicyState, ()> for change
    where
        __PolicyState: ::core::marker::Send + ::core::marker::Sync + 'static,
        Allowed<Team>: __policy::ObjectArgument<()>,
        <Allowed<
            Team,
        > as __policy::ObjectArgument<()>>::Source: __policy::StatePart<__PolicyState>,
        Locked<Order, Edit>: __policy::ObjectArgument<Allowed<Team>>,
        <Locked<
            Order,
            Edit,
        > as __policy::ObjectArgument<
            Allowed<Team>,
        >>::Source: __policy::StatePart<__PolicyState>,
    {
        fn declare(__policy_description: &mut __policy::Description) {
            __policy_description.routes = &[
                ("PUT", "/teams/{team}/{year}/orders/{order}"),
            ];
            __policy_description.policy.auth = __policy::policy_core::auth::AuthPolicy::Required(__policy::policy_core::auth::Requirement {
                session: true,
                optional: true,
                ..__policy::policy_core::auth::Requirement::NONE
            });
            __policy_description.policy.object = ::core::option::Option::Some(
                __policy::policy_core::object::ObjectPolicy::NONE
                    .exempt("years are the same for everyone")
                    .recheck(::core::time::Duration::from_millis(10000u64)),
            );
            __policy_description.extracts = true;
            __policy_description.takes_objects = true;
            __policy_description.handler = ::core::concat!(
                ::core::module_path!(), "::change"
            );
            __policy_description.file = ::core::file!();
            __policy_description.line = ::core::line!();
            __policy_description.attributes = &[
                ("auth", ::core::line!()),
                ("object", ::core::line!()),
                ("put", ::core::line!()),
            ];
        }
        fn describe(__policy_signature: &mut __policy::Signature) {
            #[allow(unused_imports)]
            use __policy::describing::*;
            __policy::Of::<<Allowed<Team> as __policy::ObjectArgument<()>>::Key>::NEW
                .describe_parameter(__policy_signature, "team");
            __policy::Of::<u16>::NEW.describe_parameter(__policy_signature, "year");
            __policy::Of::<
                <Locked<Order, Edit> as __policy::ObjectArgument<Allowed<Team>>>::Key,
            >::NEW
                .describe_parameter(__policy_signature, "order");
            __policy_signature.object::<Allowed<Team>, ()>("team");
            __policy_signature.object::<Locked<Order, Edit>, Allowed<Team>>("order");
            __policy::Of::<Json<String>>::NEW.describe_argument(__policy_signature);
            __policy::Of::<StatusCode>::NEW.describe_answer(__policy_signature);
        }
        #[allow(clippy::type_complexity)]
        fn call(__policy_call: &mut __policy::Call) -> __policy::BoxFuture {
            __policy::invoke_with_objects::<
                __PolicyState,
                __policy::FromBody,
                (
                    <Allowed<Team> as __policy::ObjectArgument<()>>::Key,
                    u16,
                    <Locked<Order, Edit> as __policy::ObjectArgument<Allowed<Team>>>::Key,
                ),
                (<Json<String> as __policy::OfBody<__PolicyState>>::Argument,),
                StatusCode,
                _,
                _,
                _,
                _,
                _,
            >(
                __policy_call,
                |
                    (__policy_parameter0, __policy_parameter1, __policy_parameter2),
                    mut __policy_gate: __policy::ObjectGate<__PolicyState>|
                async move {
                    let __policy_parameter0 = __policy_gate
                        .object::<Allowed<Team>, ()>(__policy_parameter0, &())
                        .await?;
                    let __policy_parameter2 = __policy_gate
                        .object::<
                            Locked<Order, Edit>,
                            Allowed<Team>,
                        >(__policy_parameter2, &__policy_parameter0)
                        .await?;
                    ::core::result::Result::Ok((
                        (__policy_parameter0, __policy_parameter1, __policy_parameter2),
                        __policy_gate,
                    ))
                },
                |
                    (__policy_parameter0, __policy_parameter1, __policy_parameter2),
                    (__policy_argument0,)|
                change(
                    __policy_parameter1,
                    __policy_parameter0,
                    __policy_parameter2,
                    __policy_argument0,
                ),
            )
        }
    }
};
