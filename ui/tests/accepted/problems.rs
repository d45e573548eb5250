//! The errors of an app.
#![deny(warnings)]

use policy_server::{App, Invalid, Problem, auth, get, routes};

mod my {
    pub(super) use policy_server as server;
}

#[derive(Debug, policy_server::Problems)]
pub(crate) enum PaymentError {
    #[problem(402, code = "orders.unpaid")]
    Unpaid,
    /// Two ways to the same problem.
    #[problem(402, code = "orders.unpaid")]
    Refused(),
}

#[derive(Debug, policy_server::Problems)]
#[problem(crate = my::server)]
enum OrderError {
    #[problem(404)]
    Missing,
    #[problem(404)]
    #[problem(code = "orders.gone", title = "The order is gone")]
    Gone {},
    #[problem(409, code = "orders.closed")]
    Closed {
        #[problem(member)]
        r#async: bool,
        #[problem(member = "order")]
        id: u64,
    },
    #[problem(internal, from)]
    Storage(std::io::Error),
    #[problem(internal)]
    Text { error: String },
    #[problem(transparent, from)]
    Payment(PaymentError),
    #[problem(422, from)]
    Number(std::num::ParseIntError),
    #[problem(transparent, from)]
    Invalid(Invalid),
}

#[derive(policy_server::Problems)]
enum Never {}

#[get("/orders/{id}")]
#[auth(public)]
async fn order(id: u64) -> Result<String, OrderError> {
    match id {
        0 => Err(OrderError::Missing),
        1 => Err(OrderError::Gone {}),
        2 => Err(OrderError::Closed { r#async: true, id }),
        3 => Err(OrderError::Text { error: "disk 3".to_owned() }),
        4 => Err(PaymentError::Unpaid)?,
        5 => Err(PaymentError::Refused())?,
        6 => Ok("six".parse::<u64>()?.to_string()),
        7 => Err(Invalid::new())?,
        _ => Ok(std::fs::read_to_string("orders")?),
    }
}

#[get("/never")]
#[auth(public)]
async fn never() -> Result<(), Never> {
    Ok(())
}

#[get("/problem")]
#[auth(public)]
async fn problem() -> Result<(), Problem> {
    Err(OrderError::Missing)?
}

pub(crate) fn app() {
    let _ = App::new(()).routes(routes![order, never, problem]);
}
