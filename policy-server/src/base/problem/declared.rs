//! The problems that types declare.

use std::convert::Infallible;

use http::StatusCode;
use policy_core::{Refusal, problem::DeclaredProblem};

use super::{Invalid, Problem};

/// The error type of an app that lists the problems that its values are sent as, so that they can
/// be documented. [`#[derive(Problems)]`](macro@crate::Problems) implements it.
///
/// ```
/// use policy_server::prelude::*;
///
/// #[derive(Problems)]
/// enum OrderError {
///     #[problem(404)]
///     Missing,
///     #[problem(409, code = "orders.closed", title = "The order is closed")]
///     Closed,
/// }
///
/// let [missing, closed] = OrderError::PROBLEMS else { unreachable!() };
/// assert_eq!((missing.status, missing.code), (404, None));
/// assert_eq!((closed.status, closed.code), (409, Some("orders.closed")));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}`: this type does not declare its problems (problem.undeclared)",
    label = "this does not implement `Problems`",
    note = "write `#[derive(Problems)]` on it, or `#[problem(internal)]` to log the error and respond with 500"
)]
pub trait Problems {
    /// The problems, each once.
    const PROBLEMS: &'static [DeclaredProblem];

    /// Whether a value may be sent as a problem that is not listed.
    const IS_OPEN: bool = false;
}

/// A handler that returns it responds with any problem.
impl Problems for Problem {
    const PROBLEMS: &'static [DeclaredProblem] = &[];
    const IS_OPEN: bool = true;
}

impl Problems for Infallible {
    const PROBLEMS: &'static [DeclaredProblem] = &[];
}

impl Problems for Invalid {
    const PROBLEMS: &'static [DeclaredProblem] =
        &[DeclaredProblem::from_refusal(Refusal::RequestInvalid)];
}

impl From<DeclaredProblem> for Problem {
    fn from(DeclaredProblem { status, code, title, .. }: DeclaredProblem) -> Self {
        let problem =
            Self::new(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
        problem.change(|own| {
            own.code = code.map(Into::into);
            own.title = title.map(Into::into);
        })
    }
}
