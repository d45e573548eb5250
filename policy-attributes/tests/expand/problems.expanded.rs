#[derive(Debug, Problems)]
#[problem(crate = my::server)]
enum OrderError {
    #[problem(404)]
    Missing,
    #[problem(409, code = "orders.closed", title = "The order is closed")]
    Closed { #[problem(member)] order: u64, reason: String },
    #[problem(409, code = "orders.held")]
    Held(u64, #[problem(member = "holder")] String),
    #[problem(internal, from)]
    Storage(std::io::Error),
    #[problem(422, from)]
    Number(ParseIntError),
    #[problem(transparent)]
    Payment { error: PaymentError },
}
const _: () = {
    use my::server::codegen as __policy;
    const __POLICY_LISTS: &[&[__policy::DeclaredProblem]] = &[
        &[
            __policy::DeclaredProblem::new(
                404u16,
                ::core::option::Option::None,
                ::core::option::Option::None,
            ),
            __policy::DeclaredProblem::new(
                409u16,
                ::core::option::Option::Some("orders.closed"),
                ::core::option::Option::Some("The order is closed"),
            ),
            __policy::DeclaredProblem::new(
                409u16,
                ::core::option::Option::Some("orders.held"),
                ::core::option::Option::None,
            ),
            __policy::DeclaredProblem::from_refusal(
                __policy::policy_core::Refusal::Internal,
            ),
            __policy::DeclaredProblem::new(
                422u16,
                ::core::option::Option::None,
                ::core::option::Option::None,
            ),
        ],
        <PaymentError as __policy::Problems>::PROBLEMS,
    ];
    const __POLICY_PROBLEMS: &__policy::JoinedProblems<
        { __policy::JoinedProblems::<0>::total(__POLICY_LISTS) },
    > = &__policy::JoinedProblems::new(__POLICY_LISTS);
    const _: () = match __POLICY_PROBLEMS
        .contradiction(<PaymentError as __policy::Problems>::PROBLEMS)
    {
        ::core::option::Option::None => {}
        ::core::option::Option::Some(__policy_violation) => {
            ::core::panic!("{}", __policy_violation.text().as_str())
        }
    };
    #[automatically_derived]
    impl ::core::convert::From<OrderError> for __policy::Problem {
        fn from(__policy_error: OrderError) -> Self {
            match __policy_error {
                OrderError::Missing { .. } => {
                    __policy::Problem::from(
                        __policy::DeclaredProblem::new(
                            404u16,
                            ::core::option::Option::None,
                            ::core::option::Option::None,
                        ),
                    )
                }
                OrderError::Closed { order: __policy_0, .. } => {
                    __policy::Problem::from(
                            __policy::DeclaredProblem::new(
                                409u16,
                                ::core::option::Option::Some("orders.closed"),
                                ::core::option::Option::Some("The order is closed"),
                            ),
                        )
                        .with("order", __policy_0)
                }
                OrderError::Held { 1: __policy_0, .. } => {
                    __policy::Problem::from(
                            __policy::DeclaredProblem::new(
                                409u16,
                                ::core::option::Option::Some("orders.held"),
                                ::core::option::Option::None,
                            ),
                        )
                        .with("holder", __policy_0)
                }
                OrderError::Storage { 0: __policy_error } => {
                    __policy::Problem::internal(__policy_error)
                }
                OrderError::Number { 0: __policy_error, .. } => {
                    __policy::Problem::from(
                        __policy::DeclaredProblem::new(
                            422u16,
                            ::core::option::Option::None,
                            ::core::option::Option::None,
                        ),
                    )
                }
                OrderError::Payment { error: __policy_error } => {
                    __policy::into_problem(__policy_error)
                }
            }
        }
    }
    #[automatically_derived]
    impl __policy::Problems for OrderError {
        const PROBLEMS: &'static [__policy::DeclaredProblem] = __POLICY_PROBLEMS
            .as_slice();
        const IS_OPEN: ::core::primitive::bool = <PaymentError as __policy::Problems>::IS_OPEN;
    }
    #[automatically_derived]
    impl ::core::convert::From<std::io::Error> for OrderError {
        fn from(__policy_error: std::io::Error) -> Self {
            Self::Storage(__policy_error)
        }
    }
    #[automatically_derived]
    impl ::core::convert::From<ParseIntError> for OrderError {
        fn from(__policy_error: ParseIntError) -> Self {
            Self::Number(__policy_error)
        }
    }
};
