//! The problems that a type of errors declares.

pub use policy_core::outcome::DeclaredProblem;

use super::Problem;

/// A type of errors that lists its problems.
pub trait Problems {
    /// The problems.
    const PROBLEMS: &'static [DeclaredProblem];

    /// Whether it may be a problem that it does not list.
    const IS_OPEN: bool = false;
}

/// A problem can be any.
impl Problems for Problem {
    const PROBLEMS: &'static [DeclaredProblem] = &[];
    const IS_OPEN: bool = true;
}

/// No error.
impl Problems for std::convert::Infallible {
    const PROBLEMS: &'static [DeclaredProblem] = &[];
}
