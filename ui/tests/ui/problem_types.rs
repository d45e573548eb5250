//! What types of errors have to implement, and what they say of the problems of each other.
use policy_server::prelude::*;

struct Silent;

#[derive(Problems)]
enum PaymentError {
    #[problem(402, code = "orders.unpaid", title = "The order is not paid")]
    Unpaid,
}

#[derive(Problems)]
enum OrderError {
    #[problem(internal)]
    Internal(Silent),
    #[problem(409)]
    Member(#[problem(member = "silent")] Silent),
    #[problem(409, code = "orders.unpaid", title = "The order is not paid")]
    Unpaid,
    #[problem(transparent, from)]
    Payment(PaymentError),
}

#[derive(Problems)]
enum Undeclared {
    #[problem(transparent)]
    Transparent(Silent),
    #[problem(transparent)]
    Open(Problem),
}

fn main() {}
